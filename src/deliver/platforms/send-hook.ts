// A message to a platform that knows one door and no threads of ours: marked up, and once more as plain text where it says
// that the form was wrong.

import type { SendResult } from "../../records/delivery.ts";
import { askPlatform, type PlatformDeps, type PlatformReply, type Question } from "./ask.ts";
import { type Judge, judgeAnswer } from "./judge.ts";
import { asPlain, sendVariants } from "./variants.ts";

export interface HookMessage {
  url: URL;
  secretHeaders?: Question["secretHeaders"];
  marked: unknown;
  /** What to send when the form was refused; undefined = nothing. */
  plain: (() => unknown) | undefined;
  /** Whether a refusal speaks of the message's form; only asked when nothing of it arrived. */
  isFormRefused(reply: PlatformReply): boolean;
  judge: Judge;
}

/** Never throws for what a platform can do. */
export function sendHook(
  deps: PlatformDeps,
  { url, secretHeaders, marked, plain, isFormRefused, judge }: HookMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  return sendVariants({
    first: { chat: "", thread: undefined },
    send: ({ isPlain }) => {
      const json = isPlain && plain ? plain() : marked;
      return askPlatform(deps, { url, json, ...(secretHeaders && { secretHeaders }) }, signal);
    },
    next: (reply, variant) => (plain && isFormRefused(reply) ? asPlain(variant) : undefined),
    judge: (answer) => judgeAnswer(answer, judge),
  });
}
