// Rows and adapters as these tests need them: real adapters, values a ledger would hold.

import { adapterTable } from "../../src/deliver/adapter-table.ts";
import { type AdapterOptions, makeAdapters } from "../../src/deliver/adapters/index.ts";
import type { RouteContext } from "../../src/deliver/route.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import type { Clock } from "../../src/kernel/time.ts";
import type { Adapter, Delivery, SendRequest, Target } from "../../src/records/delivery.ts";
import type { Outcome } from "../../src/records/outcome.ts";
import type { Run } from "../../src/records/run.ts";
import { manualClock } from "../support/clock.ts";

export const START = Date.parse("2026-11-29T06:00:00Z");
export const redact = makeRedact([]);

/** The real table; `local` keeps nothing unless a home is given. */
export function adapters(options: Partial<AdapterOptions> = {}) {
  const clock: Clock = options.clock ?? manualClock(START);
  return makeAdapters({
    clock,
    local: { home: "/nonexistent", outputFileOf: () => Promise.resolve(undefined) },
    ...options,
  });
}

/** A chat platform with a length limit, as issue D's adapters will be: it keeps what it was given. */
export function chatAdapter(overrides: Partial<Adapter> = {}): Adapter & { sent: SendRequest[] } {
  const sent: SendRequest[] = [];
  return {
    platform: "chat",
    repeatability: "blind",
    maxLength: 2_000,
    parseAddress: (address) => ({ chat: address }),
    unusable: () => undefined,
    send: (request) => {
      sent.push(request);
      return Promise.resolve({ kind: "delivered", receipt: { id: `m${sent.length}`, at: START } });
    },
    ...overrides,
    sent,
  };
}

export function context(options: Partial<RouteContext> = {}): RouteContext {
  return {
    origin: undefined,
    homes: new Map(),
    adapters: adapterTable([...adapters().values(), chatAdapter()]),
    ...options,
  };
}

export const chat = (id: string): Target => ({ platform: "chat", chat: id, text: `chat:${id}` });

export function runRow(changes: Partial<Run> = {}): Run {
  return {
    id: "01kb7c3v5m8q2n4r6t8w0y2z4a",
    dedupeKey: "job/disk-watch/2026-11-29T06:00:00Z",
    attempt: 1,
    kind: "job",
    jobId: "disk-watch",
    version: 1,
    parentId: undefined,
    rootId: "01kb7c3v5m8q2n4r6t8w0y2z4a",
    slot: START,
    slotTo: undefined,
    slotCount: 1,
    isCountAtLeast: false,
    trigger: "schedule",
    state: "succeeded",
    reason: undefined,
    effects: "external",
    isExclusive: true,
    idempotencyKey: "key",
    readyAt: START,
    startBy: undefined,
    owner: "node-1",
    token: 1,
    leaseUntil: undefined,
    createdAt: START,
    startedAt: START,
    finishedAt: START + 1_000,
    lastActivityAt: undefined,
    cancelRequestedAt: undefined,
    cancelledBy: undefined,
    outcome: undefined,
    usage: undefined,
    outputFile: undefined,
    scriptSha256: undefined,
    isSuspect: false,
    input: undefined,
    ...changes,
  };
}

export function failure(message: string, more: { exitCode?: number; stderrTail?: string } = {}): Outcome {
  return { state: "failed", error: { code: "exit", message, ...more } };
}

export function success(output: string, isSilent = false): Outcome {
  return { state: "succeeded", output, isSilent };
}

export function deliveryRow(changes: Partial<Delivery> = {}): Delivery {
  return {
    id: "01kb7c3v5m8q2n4r6t8w0y2z4b",
    key: "job/disk-watch/2026-11-29T06:00:00Z|result|webhook:ops|0",
    runId: "01kb7c3v5m8q2n4r6t8w0y2z4a",
    jobId: "disk-watch",
    kind: "result",
    target: { platform: "webhook", chat: "ops", text: "webhook:ops" },
    part: 0,
    body: "disk 91 %",
    repeatability: "idempotent",
    state: "sending",
    attempts: 1,
    sequence: 1,
    createdAt: START,
    nextAttemptAt: START,
    finishedAt: undefined,
    receipt: undefined,
    error: undefined,
    owner: "node-1",
    token: 1,
    ...changes,
  };
}

export function requestTo(target: Omit<Target, "text">, changes: Partial<SendRequest> = {}): SendRequest {
  return {
    target: { text: `${target.platform}:${target.chat ?? target.url ?? ""}`, ...target },
    body: "**disk** is at 91 % & rising",
    idempotencyKey: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2",
    kind: "result",
    jobId: "disk-watch",
    runId: "run-1",
    createdAt: START,
    attempt: 1,
    ...changes,
  };
}
