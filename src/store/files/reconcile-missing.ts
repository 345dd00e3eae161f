// What the absence of files means (D2): a rename, a deletion after five seconds, or too many at once to believe.

import type { Contest } from "./reconcile-claims.ts";
import type { KnownJob, ReconcileAction, ReconcileInput } from "./reconcile-types.ts";

/** @source SEMANTICS D2 */
const MISSING_MS = 5_000;
const MASS_COUNT = 5;

/** The beginning of the reason for which a job is held whose file went with many others. It ends when the file returns. */
const VANISHED = "vanished";

type Move = Extract<ReconcileAction, { kind: "move" }>;

export interface MissingVerdict {
  moves: Move[];
  actions: ReconcileAction[];
  sinceMs: ReadonlyMap<string, number>;
  /** Until the next of them counts as deleted. */
  dueInMs: number | undefined;
}

/** Judges every known job whose file is not there. */
export function judgeMissing(input: ReconcileInput, contest: Contest): MissingVerdict {
  const absent = contest.alive.filter((job) => isAbsent(job, contest));
  const moves = pairRenames(absent, contest, input);
  const renamed = new Set(moves.map((move) => move.jobId));
  const missing = absent.filter((job) => !renamed.has(job.jobId));
  const sinceMs = new Map(
    missing.map((job) => [job.jobId, input.previous?.missingSinceMs.get(job.jobId) ?? input.monotonicMs]),
  );
  const total = contest.alive.length;
  const isMass = missing.length >= MASS_COUNT && missing.length > total / 2;
  const actions: ReconcileAction[] = [];
  const waits: number[] = [];
  for (const job of missing) {
    if (job.heldReason?.startsWith(VANISHED)) continue;
    const leftMs = MISSING_MS - (input.monotonicMs - (sinceMs.get(job.jobId) ?? input.monotonicMs));
    if (leftMs > 0) waits.push(leftMs);
    else if (isMass) actions.push(holdVanished(job, missing.length, total));
    else actions.push({ kind: "remove", jobId: job.jobId, source: job.source });
  }
  return { moves, actions, sinceMs, dueInMs: waits.length === 0 ? undefined : Math.min(...waits) };
}

/** A file that is there but broken or unsettled is not absent; one that now names another id no longer stands for this one. */
function isAbsent(job: KnownJob, contest: Contest): boolean {
  if (contest.winners.has(job.jobId)) return false;
  if (!contest.present.has(job.source)) return true;
  return [...contest.winners.values()].some((winner) => winner.source === job.source);
}

/** Equal bytes under a new name, and no id in them: the same job, renamed. */
function pairRenames(absent: readonly KnownJob[], contest: Contest, input: ReconcileInput): Move[] {
  const appeared = [...contest.winners.values()].filter(
    (winner) => winner.hasExplicitId === false && isNewcomer(winner.jobId, input),
  );
  const moves: Move[] = [];
  for (const job of absent) {
    const index = appeared.findIndex((winner) => winner.entry.digest === job.digest);
    const [twin] = index < 0 ? [] : appeared.splice(index, 1);
    if (twin) moves.push({ kind: "move", jobId: job.jobId, from: job.source, source: twin.source });
  }
  return moves;
}

function isNewcomer(jobId: string, input: ReconcileInput): boolean {
  const known = input.known.get(jobId);
  return known === undefined || known.isRemoved;
}

function holdVanished(job: KnownJob, count: number, total: number): ReconcileAction {
  const reason = `${VANISHED}: ${count} of ${total} job files disappeared at once; put them back or remove the jobs`;
  return { kind: "hold", jobId: job.jobId, source: job.source, reason, isKnown: true };
}
