// Jobs and views for tests of the pure part: real schedules from the real grammar, everything else with defaults.

import type { Instant } from "../../src/kernel/time.ts";
import type { Cursor, Definition, Suspension, SuspensionKind } from "../../src/records/definition.ts";
import type { Job } from "../../src/records/job.ts";
import type { CloseSlots, JobDecision, JobView, OpenRun, RunSlot } from "../../src/records/ledger/slots.ts";
import { parseSchedule } from "../../src/schedule/grammar.ts";

/** A Monday. */
export const START = Date.parse("2026-06-01T00:00:00Z");

export function instant(text: string): Instant {
  return Date.parse(`2026-06-01T${text}Z`);
}

/** A job whose schedule is read in `zone` (default UTC) with START as now and anchor. */
export function jobOf(schedule: string | undefined, parts: Partial<Job> = {}): Job {
  const zone = parts.timezone ?? "UTC";
  return {
    id: "job",
    name: "job",
    schedule:
      schedule === undefined
        ? undefined
        : parseSchedule(schedule, { zone, now: START, anchor: START }).schedule,
    timezone: zone,
    on: [],
    work: { kind: "script", script: "x.sh", args: [] },
    deliver: [],
    onFailure: [],
    environment: "local",
    idleTimeoutMs: 0,
    totalTimeoutMs: 0,
    catchUp: "skip",
    catchUpLimit: 10,
    overlap: "skip",
    effects: "external",
    retry: { max: 0, delayMs: 0, backoff: 1, maxDelayMs: 0, on: [], notOn: [] },
    autoPause: undefined,
    jitterMs: 0,
    repeat: undefined,
    until: undefined,
    env: {},
    workdir: undefined,
    enabled: true,
    origin: undefined,
    ...parts,
  };
}

export function definitionOf(parts: Partial<Definition> = {}): Definition {
  return {
    jobId: "job",
    version: 1,
    digest: "",
    document: "",
    zone: "UTC",
    anchor: START,
    source: "jobs/job.yaml",
    inForceFrom: START,
    inForceTo: undefined,
    endedBy: undefined,
    ...parts,
  };
}

export function cursorOf(nextSlot: Instant | undefined, parts: Partial<Cursor> = {}): Cursor {
  return {
    jobId: "job",
    version: 1,
    revision: 1,
    nextSlot,
    dueAt: nextSlot,
    startedSlots: 0,
    streak: { failures: 0, cause: undefined, isAlerted: false },
    strikes: 0,
    suspensions: [],
    removedAt: undefined,
    ...parts,
  };
}

export function viewOf(
  nextSlot: Instant | undefined,
  parts: { cursor?: Partial<Cursor>; openRuns?: readonly OpenRun[] } = {},
): JobView {
  return {
    definition: definitionOf(),
    cursor: cursorOf(nextSlot, parts.cursor),
    openRuns: parts.openRuns ?? [],
  };
}

export function suspensionOf(
  kind: SuspensionKind,
  from: Instant,
  parts: Partial<Suspension> = {},
): Suspension {
  return { jobId: "job", kind, from, to: undefined, by: "test", reason: "", until: undefined, ...parts };
}

export function openRun(
  state: OpenRun["state"],
  slot: Instant | undefined,
  parts: Partial<OpenRun> = {},
): OpenRun {
  return {
    id: `run-${slot ?? "manual"}-${parts.attempt ?? 1}`,
    state,
    reason: undefined,
    slot,
    attempt: 1,
    trigger: slot === undefined ? "manual" : "schedule",
    createdAt: slot ?? START,
    ...parts,
  };
}

/** A decision in short: `run 10:00 late`, `missed pastGrace 08:00–09:00 ×3`. */
export function inShort(decision: JobDecision): string[] {
  return decision.slots.map((entry) => (entry.kind === "run" ? shortRun(entry) : shortClose(entry)));
}

function shortRun(run: RunSlot): string {
  return ["run", clock(run.slot), run.reason].filter(Boolean).join(" ");
}

function shortClose({ state, reason, first, last, count, isCountAtLeast }: CloseSlots): string {
  if (count === 1) return `${state} ${reason} ${clock(first)}`;
  return `${state} ${reason} ${clock(first)}–${clock(last)} ×${count}${isCountAtLeast ? "+" : ""}`;
}

export function clock(at: Instant): string {
  const text = new Date(at).toISOString();
  const time = text.slice(17, 19) === "00" ? text.slice(11, 16) : text.slice(11, 19);
  return at >= START && at < START + 86_400_000 ? time : `${text.slice(5, 10)} ${time}`;
}
