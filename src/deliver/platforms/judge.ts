// What a platform's answer means for a row (O2, O3). Pure.
//
// I1. `delivered` needs evidence: an answer that says nothing of the message is `unknown`, never a success.
// I2. A gateway that lost its server's answer (502, 504) has told us nothing: where repeating is `blind` that is `unknown`.
// I3. A platform's own word for waiting replaces our guess.

import { retryAfterMs } from "../../kernel/retry-after.ts";
import { type Instant, SECOND } from "../../kernel/time.ts";
import type { Receipt, Repeatability, SendResult } from "../../records/delivery.ts";
import { type PlatformAnswer, type PlatformReply, textAt } from "./ask.ts";

const MAX_ERROR = 500;

export interface Judge {
  repeatability: Repeatability;
  now: Instant;
  /** The evidence in a reply; undefined = it holds none. */
  receipt(reply: PlatformReply): Omit<Receipt, "at"> | undefined;
  /** The platform's own sentence and code. Default: the beginning of the body. */
  error?(reply: PlatformReply): string | undefined;
  /** What the platform's own codes mean, before the status is looked at. */
  verdict?(reply: PlatformReply): Verdict | undefined;
}

export type Verdict = { kind: "refused" | "unknown" } | { kind: "retry"; afterMs?: number | undefined };

/** The id at a path of a reply's JSON, as evidence. */
export function idAt(...path: (string | number)[]): Judge["receipt"] {
  return ({ json }) => {
    const id = textAt(json, ...path);
    return id === undefined ? undefined : { id };
  };
}

/** A platform that answers everything with a code of its own, whatever the status: 0 is the receipt, which has no id. */
export interface CodedAnswers {
  /** How it calls the code. */
  name: string;
  codeOf(reply: PlatformReply): number | undefined;
  error(reply: PlatformReply): string | undefined;
  /** How long this code means to wait, ms; `later` = it does not say; undefined = it is final. */
  waitOf(code: number, reply: PlatformReply): number | "later" | undefined;
}

/** Its answers as every `blind` platform's. */
export function codedJudge({ name, codeOf, error, waitOf }: CodedAnswers, now: Instant): Judge {
  return {
    repeatability: "blind",
    now,
    receipt: (reply) => (codeOf(reply) === 0 ? { note: `${name} 0` } : undefined),
    error,
    verdict: (reply) => {
      const code = codeOf(reply);
      if (code === undefined) return undefined;
      const wait = waitOf(code, reply);
      if (wait === undefined) return { kind: "refused" };
      return { kind: "retry", ...(wait !== "later" && { afterMs: wait }) };
    },
  };
}

/** Never throws. */
export function judgeAnswer(answer: PlatformAnswer, judge: Judge): SendResult {
  switch (answer.kind) {
    case "refused":
      return { kind: "refused", error: answer.error };
    case "unsent":
      return { kind: "retry", error: answer.error };
    case "cut":
      return { kind: "unknown", error: answer.error };
    case "answered":
      return judgeReply(answer, judge);
  }
}

/**
 * An answer to a step that nobody sees (an upload): what is lost there is a try that failed, never a doubt. `done` says
 * whether the step was done.
 */
export function ofHiddenStep(
  answer: PlatformAnswer,
  done: (reply: PlatformReply) => boolean,
): PlatformAnswer | "done" {
  if (answer.kind === "cut") return { kind: "unsent", error: answer.error };
  if (answer.kind !== "answered" || done(answer)) return answer.kind === "answered" ? "done" : answer;
  const isOurs = answer.status >= 500 || (answer.status >= 200 && answer.status <= 299);
  return isOurs ? { kind: "unsent", error: sentence(answer, undefined) } : answer;
}

function judgeReply(reply: PlatformReply, judge: Judge): SendResult {
  const isOk = reply.status >= 200 && reply.status <= 299;
  const receipt = isOk ? judge.receipt(reply) : undefined;
  if (receipt) return { kind: "delivered", receipt: { status: reply.status, at: judge.now, ...receipt } };
  const error = sentence(reply, judge.error?.(reply));
  const verdict = judge.verdict?.(reply) ?? verdictOfStatus(reply, judge);
  if (verdict.kind !== "retry") return { kind: verdict.kind, error };
  const afterMs = verdict.afterMs ?? retryAfterMs(reply.headers["retry-after"], judge.now);
  return { kind: "retry", error, ...(afterMs === undefined ? {} : { afterMs: Math.ceil(afterMs) }) };
}

function verdictOfStatus({ status }: PlatformReply, { repeatability }: Judge): Verdict {
  if (status >= 200 && status <= 299) return { kind: "unknown" };
  if (status === 408 || status === 425 || status === 429) return { kind: "retry" };
  if (status === 502 || status === 504) return { kind: repeatability === "idempotent" ? "retry" : "unknown" };
  return { kind: status >= 500 ? "retry" : "refused" };
}

/** Seconds as platforms write them, in a number or a text, to ms. */
export function secondsMs(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0 ? undefined : seconds * SECOND;
}

function sentence({ host, status, text }: PlatformReply, own: string | undefined): string {
  const detail = (own ?? text).replace(/\s+/g, " ").trim();
  return `${host} answered ${status}${detail ? `: ${detail}` : " without a receipt"}`.slice(0, MAX_ERROR);
}
