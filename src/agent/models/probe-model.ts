// Asks a model one tiny question, for `check-env --models`: does it answer, how fast, and if not, what is to be done.
//
// I1. One attempt, no fallback: a check shows what is, it does not work around it.

import { messageOf } from "../../kernel/errors.ts";
import { type Clock, SECOND } from "../../kernel/time.ts";
import type { ModelErrorClass } from "../../records/model.ts";
import { askOnce } from "./ask-once.ts";
import type { ResolvedModel } from "./choose-model.ts";
import { classOfModelError } from "./model-error.ts";
import type { Fetch } from "./model-fetch.ts";

export interface ProbeDeps {
  fetch: Fetch;
  clock: Pick<Clock, "monotonicMs" | "sleep">;
}

export type ModelProbe =
  | { ok: true; name: string; latencyMs: number }
  /** `error` is a sentence: what happened, then what to do. The provider's own words are in it: redact it. */
  | { ok: false; name: string; latencyMs: number; errorClass: ModelErrorClass; error: string };

/** A model that is being loaded from disk takes its time; who waits for the check does not wait for ever. */
const PROBE_TIMEOUT_MS = 30 * SECOND;
/** @source OpenAI refuses a smaller maximum output than 16. */
const PROBE_OUTPUT_TOKENS = 16;

const ADVICE: Readonly<Record<ModelErrorClass, string>> = {
  auth: "The key was refused. Check its value and what it may be used for.",
  quota: "The account has no credit left. Add some, or use another key.",
  rateLimit: "The provider answers that there are too many requests. Try again later.",
  network: "The address cannot be reached. Check `baseUrl`, and that the server runs.",
  timeout: "There was no answer in time. Try again, or use a faster model.",
  server: "The provider has a fault of its own. Try again later.",
  invalidRequest: "The provider refuses the request. Check the model's `id` and `baseUrl`.",
  contextLength: "The model's window is too small for one line. Check its server's settings.",
  badReply: "What answers is no model server of this kind. Check `provider` and `baseUrl`.",
  budget: "The budget has no room.",
  cancelled: "The check was cancelled.",
  other: "Check the model's configuration.",
};

/** Never throws, except the signal's reason. Costs a few tokens. */
export async function probeModel(
  deps: ProbeDeps,
  model: ResolvedModel,
  signal: AbortSignal,
): Promise<ModelProbe> {
  const startedMs = deps.clock.monotonicMs();
  const ended = new AbortController();
  const late = new DOMException("no answer within 30 s", "TimeoutError");
  const timer = deps.clock.sleep(PROBE_TIMEOUT_MS, AbortSignal.any([ended.signal, signal])).then(
    () => ended.abort(late),
    () => {},
  );
  try {
    const end = await askOnce({
      model,
      request: { messages: [{ role: "user", text: "Answer with the word OK." }], tools: [] },
      maxOutputTokens: PROBE_OUTPUT_TOKENS,
      fetch: deps.fetch,
      signal: AbortSignal.any([ended.signal, signal]),
      tell() {},
      onHead() {},
    });
    signal.throwIfAborted();
    const common = { name: model.name, latencyMs: Math.round(deps.clock.monotonicMs() - startedMs) };
    return end.kind === "answered"
      ? { ok: true, ...common }
      : { ok: false, ...common, ...failureOf(end.error) };
  } finally {
    ended.abort();
    await timer;
  }
}

function failureOf(error: unknown): { errorClass: ModelErrorClass; error: string } {
  const errorClass = classOfModelError(error);
  const said = messageOf(error).replace(/\s+/g, " ").slice(0, 200);
  return { errorClass, error: `${said.replace(/[.!?]?$/, ".")} ${ADVICE[errorClass]}` };
}
