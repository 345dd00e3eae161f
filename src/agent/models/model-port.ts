// The port to models: one logical call over a chain of models, with retries, usage, cost and budget (S3, S4).
//
// I1. Content that reached the caller is never said twice unannounced: an answer that broke off is asked for anew after a
//     `restart` chunk, which makes void what came before. A reply that is whole, and so may reach a tool, is never retried.
// I2. Every attempt is reserved before it begins and settled after it ended, however it ended. What cannot be settled
//     stays reserved, and so counts as spent.
// I3. A provider's error reaches the caller as it is; of a whole chain's errors, that of the model asked for.

import { type BackoffPolicy, backoffMs } from "../../kernel/backoff.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Random } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import { type Clock, formatDuration, MINUTE, SECOND } from "../../kernel/time.ts";
import type { CallModel, CallOptions, ModelChunk, ModelReply, ModelRequest } from "../../records/model.ts";
import { type AskEnd, askOnce } from "./ask-once.ts";
import { type AttemptCost, type BudgetUse, costOfAttempt, setAside } from "./attempt-budget.ts";
import type { ModelChain, ResolvedModel } from "./choose-model.ts";
import { estimateRequest } from "./estimate-tokens.ts";
import { askedWaitMs, classOfModelError, isHandedOn, isRetried } from "./model-error.ts";
import type { Fetch } from "./model-fetch.ts";
import { unpriced } from "./price.ts";
import { keepParts } from "./prompt.ts";
import { providerFacts } from "./providers.ts";

export interface ModelPortDeps {
  /** For the agent itself. */
  primary: ModelChain;
  /** For its helpers: summaries, probes. */
  auxiliary: ModelChain;
  fetch: Fetch;
  clock: Pick<Clock, "now" | "sleep">;
  random: Random;
  log: Log;
  budget?: BudgetUse | undefined;
}

/** Attempts at one model. With the delays below: given up after a quarter of a minute of failures. */
const MAX_ATTEMPTS = 5;
const BACKOFF: BackoffPolicy = { delayMs: SECOND, factor: 2, maxDelayMs: 30 * SECOND };
/** A provider that asks for more is not waited for: the run's own retry may come back (L6). */
const MAX_ASKED_WAIT_MS = 5 * MINUTE;

/** One call under way. */
interface Call {
  request: ModelRequest;
  options: CallOptions;
  inputTokens: number;
  /** Whether something came that `onChunk` took, and is not void yet (I1). */
  hasTold: boolean;
}

/** Makes the port of one run. Calls may run side by side; it keeps nothing between them. */
export function makeModelPort(deps: ModelPortDeps): CallModel {
  return async (request, options) => {
    options.signal.throwIfAborted();
    const chain = options.role === "primary" ? deps.primary : deps.auxiliary;
    const call = { request, options, inputTokens: estimateRequest(request), hasTold: false };
    let first: { error: unknown } | undefined;
    for (const model of askable(chain, deps.budget)) {
      try {
        return await askModel(deps, model, call);
      } catch (error) {
        first ??= { error };
        // Another model would meet it as well.
        if (!isHandedOn(error)) break;
        deps.log.warn("model-failed", { model: model.name, class: classOfModelError(error) });
      }
    }
    // (I3) But an abort is always an abort.
    throw options.signal.aborted ? options.signal.reason : first?.error;
  };
}

/** Under a money budget, models without a price are not asked: the first is refused, others are passed over (S3). */
function askable({ first, fallback }: ModelChain, budget: BudgetUse | undefined): ResolvedModel[] {
  if (!budget?.hasMoneyLimit) return [first, ...fallback];
  if (!first.config.price) throw unpriced(first.name);
  return [first, ...fallback.filter(({ config }) => config.price)];
}

/** Asks one model until it answers or there is no use in asking again. */
async function askModel(deps: ModelPortDeps, model: ResolvedModel, call: Call): Promise<ModelReply> {
  for (let attempt = 1; ; attempt++) {
    const { end, cost } = await attemptOnce(deps, model, call);
    if (end.kind === "answered") return replyOf(model, end, cost);
    const waitMs = nextTryIn(deps, end.error, { call, attempt });
    if (waitMs === undefined) throw end.error;
    const why = classOfModelError(end.error);
    deps.log.debug("model-retried", { model: model.name, class: why, attempt, waitMs });
    call.options.onActivity?.(`waiting ${formatDuration(waitMs)} to ask ${model.name} again (${why})`);
    await deps.clock.sleep(waitMs, call.options.signal);
  }
}

/** Undefined = not again. A provider's own wish goes before our backoff, a little later rather than earlier. */
function nextTryIn(
  { clock, random }: ModelPortDeps,
  error: unknown,
  { call, attempt }: { call: Call; attempt: number },
): number | undefined {
  if (call.options.signal.aborted || attempt >= MAX_ATTEMPTS || !isRetried(error)) return undefined;
  const jitter = (random(1)[0] ?? 0) / 256;
  const asked = askedWaitMs(error, clock.now());
  if (asked === undefined) return backoffMs(attempt, BACKOFF, jitter);
  return asked > MAX_ASKED_WAIT_MS ? undefined : Math.round(asked * (1 + 0.1 * jitter));
}

/** One attempt with its budget: reserve → ask → settle (I2). */
async function attemptOnce(
  deps: ModelPortDeps,
  model: ResolvedModel,
  call: Call,
): Promise<{ end: AskEnd; cost: AttemptCost }> {
  const { options, request, inputTokens } = call;
  // (I1)
  if (call.hasTold) options.onChunk?.({ kind: "restart" });
  call.hasTold = false;
  const { reservation, maxOutputTokens } = await setAside(deps.budget, model, {
    inputTokens,
    maxOutputTokens: request.maxOutputTokens,
  });
  const { name, config } = model;
  options.onActivity?.(`asking ${name}`);
  options.onProgress?.({
    kind: "attempt-started",
    model: name,
    provider: config.provider,
    isStreaming: config.stream !== false,
  });
  const end = await askOnce({
    model,
    request,
    maxOutputTokens,
    fetch: deps.fetch,
    signal: options.signal,
    tell: teller(call),
    onHead: (status) => options.onActivity?.(`${name} answers (${status})`),
  });
  const cost = costOfAttempt(model, end, inputTokens);
  if (deps.budget && reservation) {
    // (I2) A reply that was paid for is not thrown away because the ledger is busy.
    await deps.budget.ledger
      .settle(reservation, cost.spending)
      .catch((error: unknown) => deps.log.warn("budget-unsettled", { error: messageOf(error) }));
  }
  options.onProgress?.({ kind: "attempt-ended", usage: cost.usage, costUsd: cost.costUsd });
  return { end, cost };
}

const ACTIVITIES: Readonly<Record<Exclude<ModelChunk["kind"], "restart">, string>> = {
  text: "writing",
  reasoning: "thinking",
  toolCall: "calling a tool",
};

/** Hands each piece of one attempt on. */
function teller(call: Call): (chunk: Exclude<ModelChunk, { kind: "restart" }>) => void {
  const { options } = call;
  let isFirst = true;
  return (chunk) => {
    if (isFirst) options.onProgress?.({ kind: "content-arrived" });
    isFirst = false;
    options.onActivity?.(ACTIVITIES[chunk.kind]);
    if (!options.onChunk) return;
    call.hasTold = true;
    options.onChunk(chunk);
  };
}

function replyOf(
  { name, config }: ResolvedModel,
  { reply }: Extract<AskEnd, { kind: "answered" }>,
  cost: AttemptCost,
): ModelReply {
  const { text, reasoning, toolCalls, finish, parts } = reply;
  const isSigned = parts.some(({ options }) => options !== undefined);
  const isThoughtOfCalls =
    providerFacts(config.provider).givesReasoningBack && reasoning !== "" && toolCalls.length > 0;
  return {
    text,
    reasoning,
    toolCalls,
    finish,
    usage: cost.usage,
    costUsd: cost.costUsd,
    model: name,
    ...(isSigned || isThoughtOfCalls
      ? { providerParts: keepParts({ provider: config.provider, id: config.id }, parts) }
      : {}),
  };
}
