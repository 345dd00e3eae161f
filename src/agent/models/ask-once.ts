// One request to one model: the adapter's answer gathered, or why there is none and what had come by then.
//
// I1. An aborted signal ends it at once, whatever the adapter does; the connection is closed in every case but success.
// I2. Never throws: who tries again needs what was told before.

import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import { linkAbort, whenAborted } from "../../kernel/abort.ts";
import type { ModelChunk, ModelRequest } from "../../records/model.ts";
import type { ResolvedModel } from "./choose-model.ts";
import { type CollectedReply, collectReply, type ReplyCollector } from "./collect-reply.ts";
import { type Fetch, modelFetch } from "./model-fetch.ts";
import { toPrompt } from "./prompt.ts";
import {
  loadModelSdk,
  openLanguageModel,
  providerFacts,
  providerOptionsOf,
  toFunctionTools,
} from "./providers.ts";

export interface Asking {
  model: ResolvedModel;
  request: ModelRequest;
  /** Sent along; undefined = the provider's own. */
  maxOutputTokens: number | undefined;
  fetch: Fetch;
  signal: AbortSignal;
  /** Must not throw. */
  tell(chunk: ModelChunk): void;
  onHead(status: number): void;
}

export type AskEnd =
  | { kind: "answered"; reply: CollectedReply }
  /** `wasSent` = a request was on its way: it may have cost something. */
  | { kind: "failed"; error: unknown; wasSent: boolean; soFar: ReturnType<ReplyCollector["soFar"]> };

/** Asks. A stream where the model's config does not forbid it. */
export async function askOnce(asking: Asking): Promise<AskEnd> {
  const collector = collectReply(asking.tell);
  const connection = linkAbort(asking.signal);
  const aborted = whenAborted(asking.signal);
  const stopped = aborted.promise.then(() => Promise.reject(asking.signal.reason));
  stopped.catch(() => {});
  let wasSent = false;
  const fetch: Fetch = (input, init) => {
    wasSent = true;
    return asking.fetch(input, init);
  };
  try {
    asking.signal.throwIfAborted();
    const sdk = await loadModelSdk();
    const language = openLanguageModel(sdk, asking.model, modelFetch(fetch, asking.onHead));
    const options = callOptions(asking, connection.signal);
    await (asking.model.config.stream === false
      ? askWhole(language, options, { collector, stopped })
      : askStream(language, options, { collector, stopped }));
    return { kind: "answered", reply: collector.reply() };
  } catch (error) {
    // (I1) Before anything else: a stalled answer would hold its connection.
    connection.abort(error);
    const reason = asking.signal.aborted ? asking.signal.reason : error;
    return { kind: "failed", error: reason, wasSent, soFar: collector.soFar() };
  } finally {
    aborted.release();
    connection.release();
  }
}

interface Gathering {
  collector: ReplyCollector;
  /** Rejects when the caller aborts; never resolves. */
  stopped: Promise<never>;
}

async function askWhole(
  language: LanguageModelV3,
  options: LanguageModelV3CallOptions,
  { collector, stopped }: Gathering,
): Promise<void> {
  const { content, finishReason, usage } = await Promise.race([language.doGenerate(options), stopped]);
  collector.addWhole(content);
  // A document that was read to its end is whole, whether or not it says why it ended.
  const { unified, raw } = finishReason;
  collector.end(
    { unified: raw === undefined && unified === "other" ? "stop" : unified, raw: raw ?? "" },
    usage,
  );
}

async function askStream(
  language: LanguageModelV3,
  options: LanguageModelV3CallOptions,
  { collector, stopped }: Gathering,
): Promise<void> {
  const { stream } = await Promise.race([language.doStream(options), stopped]);
  const reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart> = stream.getReader();
  for (;;) {
    const { done, value } = await Promise.race([reader.read(), stopped]);
    if (done) return;
    collector.add(value);
  }
}

function callOptions(
  { model, request, maxOutputTokens }: Asking,
  abortSignal: AbortSignal,
): LanguageModelV3CallOptions {
  const { config } = model;
  return {
    prompt: toPrompt(request.messages, config, providerFacts(config.provider).cacheMark),
    abortSignal,
    providerOptions: providerOptionsOf(model),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
    ...(request.tools.length === 0
      ? {}
      : { tools: toFunctionTools(request.tools), toolChoice: { type: request.toolChoice ?? "auto" } }),
  };
}
