// The ledger's port for events from outside (W7): one transaction that keeps the event and decides what becomes of it for
// each job that it triggers.
//
// I1. A key is one event, for as long as the event is remembered: a repetition starts nothing, whatever jobs listen by then.
// I2. Each job's decision is made under the lock of its cursor, with a view read there: the overlap rule holds (T7).

import type { Instant } from "../../kernel/time.ts";
import type { Run } from "../run.ts";
import type { TriggerEvent } from "../trigger.ts";
import type { JobDecision, JobView, RunSlot } from "./slots.ts";

/** What an event means for one job. */
export type EventDecision =
  | ({ kind: "run"; startBy: Instant | undefined } & Pick<RunSlot, "effects" | "isExclusive" | "traits"> &
      Pick<JobDecision, "endOpenRuns" | "cancelRuns">)
  /** A `skipped` run with this reason: nothing that came is dropped without a word. */
  | { kind: "skip"; reason: string };

/** Pure; undefined = the event does not concern this job (any more). */
export type DecideEvent = (view: JobView, now: Instant) => EventDecision | undefined;

export type FireAnswer =
  /** `known` = it had come before: the runs are those that it started then. */
  | { kind: "fired" | "known"; event: TriggerEvent; runs: readonly Run[] }
  /** The key is another event's: its data differs. */
  | { kind: "conflict"; event: TriggerEvent };

export interface TriggerLedger {
  /** The jobs that have any `on:`, by id; removed ones are left out. */
  triggeredJobs(): Promise<readonly JobView[]>;
  /** Keeps the event and starts, or skips, a run of each of these jobs. */
  fireEvent(request: {
    event: TriggerEvent;
    jobIds: readonly string[];
    now: Instant;
    decide: DecideEvent;
  }): Promise<FireAnswer>;
  /** Which of these keys stand for events that are remembered. */
  knownEvents(keys: readonly string[]): Promise<ReadonlySet<string>>;
  triggerEvent(id: string): Promise<TriggerEvent | undefined>;
  /** Empties events whose runs are gone and forgets those received before this instant that have none. */
  forgetEvents(request: { before: Instant; limit: number }): Promise<void>;
}
