// The relay: the one door to a model that watches what goes through it. Each logical call becomes one record without
// content; nothing else changes (S4).
//
// I1. The same request, options, reply and error pass through, as the same objects. It adds no `onChunk`: whether
//     anybody listens decides whether a broken answer is asked for anew (model-port I1).
// I2. Its own failure is no failure of the call: what it observes with is detached and reported once.

import type { Clock } from "../../kernel/time.ts";
import {
  type CallModel,
  type CallOptions,
  type CallProgress,
  type ModelCallRecord,
  type ModelReply,
  NO_TOKENS,
  type TokenUsage,
} from "../../records/model.ts";
import { classOfModelError } from "../models/model-error.ts";
import { type DetachDeps, detachable } from "./detachable-sink.ts";

export interface RelayDeps extends DetachDeps {
  runId: string;
  rootId: string;
  clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  newId(): string;
  /** Takes each record when its call has ended, before the caller learns of the end. May take its time, up to 2 s. */
  sink(record: ModelCallRecord): void | Promise<void>;
}

export interface Relay {
  call: CallModel;
  /** Resolves when every record was taken or given up: at a run's end. Never rejects. */
  settled(): Promise<void>;
}

/** Wraps `callModel`. Calls may be nested and run side by side; each is observed by itself. */
export function makeRelay(callModel: CallModel, given: RelayDeps): Relay {
  const deps = { ...given, report: once(given.report) };
  const sink = detachable(deps.sink, deps);
  const call: CallModel = async (request, options) => {
    const observer = observe(deps, options);
    // Its clock or ids are broken: the call goes on without it (I2).
    if (!observer) return callModel(request, options);
    const done = (end: CallEndFacts) => {
      const record = observer.record(end);
      if (record) sink.put(record);
    };
    try {
      const reply = await callModel(request, { ...options, onProgress: observer.onProgress });
      done({ reply });
      return reply;
    } catch (error) {
      done({ error });
      throw error;
    }
  };
  return { call, settled: () => sink.settled() };
}

type CallEndFacts = { reply: ModelReply } | { error: unknown };

interface Observer {
  onProgress(progress: CallProgress): void;
  /** Undefined when it could not be made. */
  record(end: CallEndFacts): ModelCallRecord | undefined;
}

/** What is seen of one call while it goes on. */
interface Seen {
  model: string;
  provider: string;
  isStreaming: boolean;
  attempts: number;
  firstTokenMs: number | undefined;
  usage: TokenUsage | undefined;
  costUsd: number | undefined;
}

interface Begun {
  id: string;
  startedAt: number;
  startedMs: number;
}

/** Undefined when observing failed from the start. */
function observe(deps: RelayDeps, options: CallOptions): Observer | undefined {
  const { clock } = deps;
  const seen: Seen = {
    ...{ model: "", provider: "", isStreaming: false, attempts: 0 },
    ...{ firstTokenMs: undefined, usage: undefined, costUsd: undefined },
  };
  const begun = quietly(deps, () => ({
    id: deps.newId(),
    startedAt: clock.now(),
    startedMs: clock.monotonicMs(),
  }));
  if (!begun) return undefined;
  const elapsedMs = () => clock.monotonicMs() - begun.startedMs;
  return {
    onProgress(progress) {
      options.onProgress?.(progress);
      quietly(deps, () => note(seen, progress, elapsedMs));
    },
    record: (end) => quietly(deps, () => recordOf(deps, { begun, seen, options, elapsedMs }, end)),
  };
}

/** (I2) What fails here is reported, and nobody's failure. */
function quietly<Result>({ report }: RelayDeps, work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    report(error);
    return undefined;
  }
}

function note(seen: Seen, progress: CallProgress, elapsedMs: () => number): void {
  switch (progress.kind) {
    case "attempt-started": {
      const { model, provider, isStreaming } = progress;
      Object.assign(seen, { model, provider, isStreaming, attempts: seen.attempts + 1 });
      return;
    }
    case "content-arrived":
      seen.firstTokenMs ??= elapsedMs();
      return;
    case "attempt-ended":
      seen.usage = sumOf(seen.usage, progress.usage);
      if (progress.costUsd !== undefined) seen.costUsd = (seen.costUsd ?? 0) + progress.costUsd;
  }
}

interface Observed {
  begun: Begun;
  seen: Seen;
  options: CallOptions;
  elapsedMs(): number;
}

function recordOf({ runId, rootId }: RelayDeps, observed: Observed, end: CallEndFacts): ModelCallRecord {
  const { begun, seen, options } = observed;
  const reply = "reply" in end ? end.reply : undefined;
  const isCancelled = !reply && options.signal.aborted;
  return {
    id: begun.id,
    runId,
    rootId,
    role: options.role,
    model: reply?.model ?? seen.model,
    provider: seen.provider,
    isStreaming: seen.isStreaming,
    startedAt: begun.startedAt,
    attempts: seen.attempts,
    firstTokenMs: seen.firstTokenMs,
    durationMs: observed.elapsedMs(),
    end: reply ? "done" : isCancelled ? "cancelled" : "failed",
    usage: seen.usage ?? reply?.usage ?? NO_TOKENS,
    costUsd: seen.costUsd ?? reply?.costUsd,
    errorClass: "error" in end ? (isCancelled ? "cancelled" : classOfModelError(end.error)) : undefined,
  };
}

/** (I2) */
function once(report: (error: unknown) => void): (error: unknown) => void {
  let hasReported = false;
  return (error) => {
    if (hasReported) return;
    hasReported = true;
    report(error);
  };
}

function sumOf(before: TokenUsage = NO_TOKENS, more: TokenUsage): TokenUsage {
  return {
    inputTokens: before.inputTokens + more.inputTokens,
    outputTokens: before.outputTokens + more.outputTokens,
    cachedInputTokens: before.cachedInputTokens + more.cachedInputTokens,
    reasoningTokens: before.reasoningTokens + more.reasoningTokens,
  };
}
