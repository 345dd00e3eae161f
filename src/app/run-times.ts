// Where a run's time went, by its row and its events: created → queued → waiting for resources → claimed → started →
// finished.
//
// I1. The parts follow each other without gaps; a part that has not ended, or of which nothing is known, is null.

import { formatInstant, type Instant } from "../kernel/time.ts";
import type { Run, RunEvent } from "../records/run.ts";
import type { Context } from "./context.ts";

export interface RunTimes {
  /** From when it waited for resources, or for a node that can do it; null = it did not, or nobody knows any more. */
  waitingSince: string | null;
  /** When the node that started it took it. */
  claimedAt: string | null;
  /** Created → ready: jitter, or the delay before a retry. */
  delayedMs: number;
  /** Ready → waiting for resources or claimed. */
  queuedMs: number | null;
  /** 0 = it did not wait for any. */
  waitedForResourcesMs: number | null;
  /** Claimed → started: its claim, its place and its first record. */
  claimedMs: number | null;
  /** Started → finished. */
  ranMs: number | null;
}

/** What tells a run's times comes before what it says. */
const FIRST_EVENTS = 200;

export async function readRunTimes({ ledger }: Pick<Context, "ledger">, run: Run): Promise<RunTimes> {
  return runTimes(run, await ledger.events({ runId: run.id, limit: FIRST_EVENTS }));
}

/** Pure. `events`: the run's own; more than its first ones may be missing. */
export function runTimes(run: Run, events: readonly RunEvent[]): RunTimes {
  const { createdAt, startedAt, finishedAt } = run;
  const claimedAt = newest(events, "run-claimed", startedAt);
  const begunAt = claimedAt ?? startedAt;
  // Somebody's own run goes before its time: nothing held it.
  const isEarly = begunAt !== undefined && run.readyAt > begunAt;
  const readyAt = isEarly ? createdAt : Math.max(createdAt, run.readyAt);
  const waiting = events.find(
    ({ kind, at, data }) => kind === "run-waiting" && data.lacks !== undefined && at >= readyAt,
  )?.at;
  const waitingAt = waiting !== undefined && begunAt !== undefined && waiting > begunAt ? undefined : waiting;
  const leftAt = waitingAt ?? begunAt;
  return {
    waitingSince: waitingAt === undefined ? null : formatInstant(waitingAt),
    claimedAt: claimedAt === undefined ? null : formatInstant(claimedAt),
    delayedMs: readyAt - createdAt,
    queuedMs: between(readyAt, leftAt),
    waitedForResourcesMs:
      waitingAt === undefined ? (begunAt === undefined ? null : 0) : between(waitingAt, begunAt),
    claimedMs: between(claimedAt, startedAt),
    ranMs: between(startedAt, finishedAt),
  };
}

/** A row that was given back and taken again has several: the one that led to its start counts. */
function newest(events: readonly RunEvent[], kind: string, until: Instant | undefined): Instant | undefined {
  return events.filter((event) => event.kind === kind && (until === undefined || event.at <= until)).at(-1)
    ?.at;
}

function between(from: Instant | undefined, to: Instant | undefined): number | null {
  return from === undefined || to === undefined ? null : Math.max(0, to - from);
}
