// What the contract's rules are told with: jobs, decisions and runs of a made-up schedule, and the world around them.

import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import type { NewDelivery } from "../../../src/records/delivery.ts";
import type { Closing, NewRun } from "../../../src/records/ledger/claims.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { DecideJob, JobDecision, JobView, PassRequest } from "../../../src/records/ledger/slots.ts";
import type { HostIdentity } from "../../../src/records/process.ts";
import type { Claim, Run } from "../../../src/records/run.ts";

export const START = Date.parse("2026-11-29T06:00:00Z");
export const LEASE_MS = 60 * SECOND;

/** One store, opened as often as a test wants nodes, with its clock in the test's hands. */
export interface Bench {
  /** A ledger of its own on the same store; closed by the bench. */
  open(options?: { host?: HostIdentity }): Promise<Ledger>;
  now(): number;
  /** Moves the wall clock and the clock that leases count on. */
  advance(ms: number): Promise<void>;
  /** SQL past the port, for what the database itself must refuse. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  /** A sequence of ids that sort by birth. */
  id(): string;
}

export const HOST: HostIdentity = {
  hostId: "host",
  machineId: "machine",
  bootId: "boot-1",
  pidNamespace: "1",
};

/** Every minute on the minute: due slots run, exclusively. Enough of WHEN for the ledger's part. */
export const runEveryMinute: DecideJob = (view, now) => {
  const slots: JobDecision["slots"][number][] = [];
  let slot = view.cursor.nextSlot;
  while (slot !== undefined && slot <= now) {
    slots.push({ kind: "run", slot, readyAt: slot, effects: "external", isExclusive: true });
    slot += MINUTE;
  }
  return decision({ slots, next: slot === undefined ? undefined : { slot, dueAt: slot } });
};

/** Everything due is missed, as one stretch. */
export const missEveryMinute: DecideJob = (view, now) => {
  const first = view.cursor.nextSlot;
  if (first === undefined || first > now) return keep(view);
  const count = Math.floor((now - first) / MINUTE) + 1;
  const last = first + (count - 1) * MINUTE;
  return decision({
    slots: [
      { kind: "close", state: "missed", reason: "pastGrace", first, last, count, isCountAtLeast: false },
    ],
    next: { slot: last + MINUTE, dueAt: last + MINUTE },
  });
};

export function decision(parts: Partial<JobDecision>): JobDecision {
  return { slots: [], endOpenRuns: [], cancelRuns: [], next: undefined, ...parts };
}

/** Nothing is due: the cursor stays. */
export function keep({ cursor }: JobView): JobDecision {
  const next =
    cursor.nextSlot === undefined
      ? undefined
      : { slot: cursor.nextSlot, dueAt: cursor.dueAt ?? cursor.nextSlot };
  return decision({ next });
}

export function passRequest(bench: Bench, parts: Partial<PassRequest> = {}): PassRequest {
  return {
    nodeId: "node-a",
    now: bench.now(),
    capacity: 100,
    liveRuns: 0,
    leaseMs: LEASE_MS,
    decide: runEveryMinute,
    digest: () => [],
    cannotPrepare: () => undefined,
    ...parts,
  };
}

export interface JobParts {
  document?: Record<string, unknown>;
  slot?: number | undefined;
  digest?: string;
  expectVersion?: number;
}

/** Records a version whose next slot is `slot` (default: now). */
export async function define(ledger: Ledger, bench: Bench, jobId: string, parts: JobParts = {}) {
  const slot = "slot" in parts ? parts.slot : bench.now();
  return ledger.changeJob({
    jobId,
    now: bench.now(),
    ...(parts.expectVersion === undefined ? {} : { expectVersion: parts.expectVersion }),
    change: {
      kind: "define",
      document: JSON.stringify({ id: jobId, ...parts.document }),
      digest: parts.digest ?? `digest-${jobId}`,
      zone: "UTC",
      anchor: START,
      source: `jobs/${jobId}.yaml`,
      by: "test",
    },
    settle: keep,
    isComplete: () => false,
    next: () => (slot === undefined ? undefined : { slot, dueAt: slot }),
    digest: () => [],
  });
}

export function manualRun(bench: Bench, parts: Partial<NewRun> = {}): NewRun {
  const id = bench.id();
  return {
    id,
    dedupeKey: `manual/${id}`,
    attempt: 1,
    kind: "job",
    jobId: undefined,
    version: undefined,
    parentId: undefined,
    rootId: id,
    slot: undefined,
    trigger: "manual",
    effects: "external",
    isExclusive: false,
    idempotencyKey: `manual/${id}`,
    readyAt: bench.now(),
    createdAt: bench.now(),
    ...parts,
  };
}

export function succeed(bench: Bench, claim: Claim, parts: Partial<Closing> = {}): Closing {
  return {
    claim,
    state: "succeeded",
    reason: undefined,
    outcome: { state: "succeeded", output: "done", isSilent: false },
    finishedAt: bench.now(),
    ...parts,
  };
}

export function fail(bench: Bench, claim: Claim, parts: Partial<Closing> = {}): Closing {
  const error = { code: "exit", message: "exit 1", exitCode: 1 };
  return succeed(bench, claim, { state: "failed", outcome: { state: "failed", error }, ...parts });
}

/** Claims whatever is ready, expecting exactly one run. */
export async function claimOne(ledger: Ledger, bench: Bench, parts: Partial<PassRequest> = {}) {
  const { claimed } = await ledger.pass(passRequest(bench, { capacity: 1, ...parts }));
  const [only] = claimed;
  if (!only) throw new Error("nothing was claimed");
  return only;
}

/** Claims and starts one run. */
export async function startOne(ledger: Ledger, bench: Bench, parts: Partial<PassRequest> = {}) {
  const claimed = await claimOne(ledger, bench, parts);
  await ledger.startRuns([{ claim: claimed.claim, startedAt: bench.now() }]);
  return claimed;
}

export async function rowOf(ledger: Ledger, runId: string): Promise<Run> {
  const run = await ledger.run(runId);
  if (!run || "ambiguous" in run) throw new Error(`no run ${runId}`);
  return run;
}

let messages = 0;

export function delivery(parts: Partial<NewDelivery> = {}): NewDelivery {
  messages++;
  const text = parts.target?.text ?? "local";
  return {
    key: `message/${messages}`,
    runId: undefined,
    jobId: undefined,
    kind: "result",
    target: { platform: "local", text },
    part: 0,
    body: "hello",
    repeatability: "idempotent",
    state: "queued",
    ...parts,
  };
}

/** Again while another process holds the file (L11), as every caller of the port does. */
export async function whenFree<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== "store.busy" || tries > 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
