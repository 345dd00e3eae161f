// Digests: the misses, or the unknowns, of one pass as one message per target (O1). Pure.
//
// I1. The key is made of what the digest is about, so the same pass decided again puts the same rows.
// I2. A night without a node is one message, not one per slot.

import type { NewDelivery, Origin, TargetSelector } from "../records/delivery.ts";
import type { Incident } from "../records/incident.ts";
import type { DigestMissed, JobView } from "../records/ledger/slots.ts";
import type { Outcome } from "../records/outcome.ts";
import type { Run } from "../records/run.ts";
import { heldNewsText, type JobFacts, type MissedFacts, missedText, unknownText } from "./messages.ts";
import { keyDigest, type RowContext, routedRows } from "./outbox-rows.ts";
import { LOCAL, type Route, route } from "./route.ts";

/** What a digest needs of a job. */
export interface DigestJob extends JobFacts {
  onFailure: readonly TargetSelector[];
  origin: Origin | undefined;
}

export interface DigestDeps {
  /** The job of a view; undefined = its document cannot be read now, then its misses go to `local`. */
  jobOf(view: JobView): DigestJob | undefined;
  /** The context for a job's rows: only `origin` differs between jobs. */
  contextFor(job: DigestJob): RowContext;
}

interface Entry<Fact> {
  job: DigestJob;
  fact: Fact;
  runId: string;
  dedupeKey: string;
}

/** The ledger's `digest` callback: one message per target for the slots a pass closed as missed. `skipped` is no news. */
export function makeDigest(deps: DigestDeps): DigestMissed {
  return (closed) => {
    const entries: Entry<MissedFacts>[] = [];
    for (const { view, runId, dedupeKey, slots } of closed) {
      if (slots.state !== "missed") continue;
      const job = deps.jobOf(view) ?? unreadableJob(view);
      entries.push({ job, runId, dedupeKey, fact: { job, ...slots } });
    }
    return digestRows(entries, { kind: "missed", text: missedText, contextFor: deps.contextFor });
  };
}

/** One message per target for runs found `unknown` at a start. Their own closings are settled with `isDigested`. */
export function digestUnknowns(
  unknowns: readonly { job: DigestJob; run: Run; outcome: Outcome }[],
  contextFor: DigestDeps["contextFor"],
): NewDelivery[] {
  const entries = unknowns.map((fact) => {
    const { job, run } = fact;
    return { job, fact, runId: run.id, dedupeKey: `${run.dedupeKey}@${run.attempt}` };
  });
  return digestRows(entries, { kind: "alert", text: unknownText, contextFor });
}

/** One message per target for news of incidents that was held back: as it stands now, not as it was when it was held. */
export function digestHeldNews(
  held: readonly { job: DigestJob; incident: Incident }[],
  contextFor: DigestDeps["contextFor"],
): NewDelivery[] {
  const entries = held.map((fact) => {
    const { id, openings, lastRunId } = fact.incident;
    const dedupeKey = `incident/${id}/${openings}/${fact.incident.state}/${fact.incident.tellAt}`;
    return { job: fact.job, fact, runId: lastRunId, dedupeKey };
  });
  const isOver = held.every(({ incident }) => incident.state === "resolved");
  return digestRows(entries, { kind: isOver ? "recovery" : "alert", text: heldNewsText, contextFor });
}

/** Groups by concrete target (and by what could not be resolved), then makes one message of each group. */
function digestRows<Fact>(
  entries: readonly Entry<Fact>[],
  make: {
    kind: "missed" | "alert" | "recovery";
    text(facts: readonly Fact[]): string;
    contextFor: DigestDeps["contextFor"];
  },
): NewDelivery[] {
  const groups = new Map<string, { part: Route; context: RowContext; entries: Entry<Fact>[] }>();
  for (const entry of entries) {
    const context = make.contextFor(entry.job);
    for (const part of routeParts(route(entry.job.onFailure, context.route))) {
      const address = part.targets[0]?.text ?? `unresolved ${part.unresolved[0]?.target.text}`;
      const group = groups.get(address) ?? { part, context, entries: [] };
      group.entries.push(entry);
      groups.set(address, group);
    }
  }
  return [...groups.values()].flatMap((group) => {
    const keys = group.entries.map((entry) => entry.dedupeKey).sort();
    const [only, ...others] = group.entries;
    const message = {
      subject: `digest/${keyDigest(keys.join("\n"))}`,
      kind: make.kind,
      runId: others.length === 0 ? only?.runId : undefined,
      jobId: others.length === 0 ? only?.job.id : undefined,
      text: make.text(group.entries.map((entry) => entry.fact)),
    };
    return routedRows(message, group.part, group.context);
  });
}

/** A route taken apart: one address each. */
function routeParts({ targets, unresolved }: Route): Route[] {
  return [
    ...targets.map((target) => ({ targets: [target], unresolved: [] })),
    ...unresolved.map((entry) => ({ targets: [], unresolved: [entry] })),
  ];
}

/** A job whose document no longer parses still had slots: its misses are kept here. */
function unreadableJob({ definition }: JobView): DigestJob {
  return localJob(definition.jobId, definition.zone);
}

/** A job of which no more than this is known: what is said of it is kept here. */
export function localJob(id: string, timezone: string): DigestJob {
  return { id, name: id, timezone, onFailure: [{ kind: "target", target: LOCAL }], origin: undefined };
}
