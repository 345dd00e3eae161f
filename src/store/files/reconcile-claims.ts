// Which file stands for which id (D2): one each; whoever comes second is a problem, not a winner.

import type { SourceEntry } from "../../records/source.ts";
import { isJobFileSource } from "./job-file-name.ts";
import type { EntryReading, KnownJob, ReconcileInput } from "./reconcile-types.ts";

/** A file that asks for an id. Without a `reading` it is byte for byte the version the ledger has. */
export interface Claimant {
  jobId: string;
  source: string;
  entry: SourceEntry;
  reading: Extract<EntryReading, { kind: "valid" }> | undefined;
  hasExplicitId: boolean | undefined;
}

/** A file that counts for nothing until a person corrects it. */
export interface FileProblem {
  source: string;
  jobId: string;
  reason: string;
}

export interface Contest {
  winners: ReadonlyMap<string, Claimant>;
  problems: readonly FileProblem[];
  /** Jobs that came from files and are not removed. */
  alive: readonly KnownJob[];
  /** The jobs a file stands for that no file has taken over: two, where it has just changed its id and then broke. */
  standingAt(source: string): KnownJob[];
  /** Files that are there in whatever state. */
  present: ReadonlySet<string>;
}

/** Sorts every file of the listing into winners and problems. */
export function claimIds(input: ReconcileInput): Contest {
  const { entries, unreadable, unsettled = [] } = input.listing;
  const alive = [...input.known.values()].filter((job) => !job.isRemoved && isJobFileSource(job.source));
  const digests = new Map(entries.map((entry) => [entry.source, entry.digest]));
  const isExact = (job: KnownJob) => digests.get(job.source) === job.digest;
  const ordered = [...alive].sort((a, b) => Number(isExact(a)) - Number(isExact(b)));
  // Where a file has just changed its id, it stands for the job whose bytes it holds.
  const knownBySource = new Map(ordered.map((job) => [job.source, job]));
  const problems: FileProblem[] = unreadable.map(({ source, defaultId, error }) => ({
    source,
    jobId: defaultId,
    reason: `unreadable: ${error}`,
  }));
  const claimants: Claimant[] = [];
  for (const entry of entries) {
    const claim = claimOf(input, entry, knownBySource.get(entry.source));
    if ("reason" in claim) problems.push(claim);
    else claimants.push(claim);
  }
  const present = new Set([...entries, ...unreadable].map(({ source }) => source).concat(unsettled));
  const winners = chooseWinners({ claimants, input, present, problems });
  const standingAt = (source: string) =>
    alive.filter((job) => job.source === source && !winners.has(job.jobId));
  return { winners, problems, alive, standingAt, present };
}

function claimOf(
  input: ReconcileInput,
  entry: SourceEntry,
  known: KnownJob | undefined,
): Claimant | FileProblem {
  const { source } = entry;
  if (known?.digest === entry.digest)
    return { jobId: known.jobId, source, entry, reading: undefined, hasExplicitId: undefined };
  // A file without an id of its own keeps the one its path is known by, also after a rename.
  const defaultId = known?.jobId ?? entry.defaultId;
  const reading = input.read(entry, defaultId);
  if (reading.kind === "invalid") return { source, jobId: defaultId, reason: `invalid: ${reading.error}` };
  return { jobId: reading.document.id, source, entry, reading, hasExplicitId: reading.hasExplicitId };
}

interface ContestParts {
  claimants: readonly Claimant[];
  input: ReconcileInput;
  present: ReadonlySet<string>;
  problems: FileProblem[];
}

/** The path the ledger knows keeps its id, even while it is broken or unsettled; else the first name wins. */
function chooseWinners({ claimants, input, present, problems }: ContestParts): Map<string, Claimant> {
  const winners = new Map<string, Claimant>();
  const ordered = [...claimants].sort((a, b) => (a.source < b.source ? -1 : 1));
  const homeOf = (jobId: string) => {
    const known = input.known.get(jobId);
    return known && !known.isRemoved ? known.source : undefined;
  };
  for (const claimant of ordered)
    if (homeOf(claimant.jobId) === claimant.source) winners.set(claimant.jobId, claimant);
  for (const claimant of ordered) {
    const { jobId, source } = claimant;
    const home = homeOf(jobId);
    if (winners.get(jobId) === claimant) continue;
    const isHomeTaken = home !== undefined && present.has(home) && !claimsAnother(claimants, home, jobId);
    const holder = winners.get(jobId)?.source ?? (isHomeTaken ? home : undefined);
    if (holder === undefined) winners.set(jobId, claimant);
    else problems.push({ source, jobId, reason: `duplicate: the id ${jobId} belongs to ${holder}` });
  }
  return winners;
}

/** Whether the file at `source` is readable and now names another id, so that it no longer stands for `jobId`. */
function claimsAnother(claimants: readonly Claimant[], source: string, jobId: string): boolean {
  return claimants.some((claimant) => claimant.source === source && claimant.jobId !== jobId);
}
