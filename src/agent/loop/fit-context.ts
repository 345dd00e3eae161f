// Makes the conversation fit the model's context before a call: the plan is pure (plan-context.ts), this carries it out.

import type { Message } from "../../records/conversation.ts";
import { cutMiddle } from "./bound-result.ts";
import { elideResults, planContext, replaceRegion } from "./plan-context.ts";
import { type Session, tell } from "./session.ts";
import { leftOutNote, summarise } from "./summarise.ts";

/** Compacts `session.working` where it must. Returns whether anything changed. Never rejects. */
export async function fitContext(session: Session): Promise<boolean> {
  const { window, turn } = session;
  const before = session.working;
  const { elide, summarise: region, savedTokens } = planContext(before, window.sizeOf, window.limits());
  if (elide.length > 0) {
    session.working = elideResults(before, elide);
    tell(session, { kind: "context-elided", turn, results: elide.length, savedTokens });
  }
  if (region) await summariseRegion(session, region, before.slice(region.from, region.to));
  return session.working !== before;
}

/** The summary is made of the messages as they were before anything in them was elided. */
async function summariseRegion(
  session: Session,
  region: { from: number; to: number },
  messages: readonly Message[],
): Promise<void> {
  const { window, turn } = session;
  const { summaryTokens } = window.limits();
  const beforeTokens = tokensOf(session, session.working);
  const summary = await summarise(session, messages, summaryTokens);
  if (session.ctx.signal.aborted) return;
  const text = summary
    ? `[Summary of ${messages.length} earlier messages, which were left out to make room]\n${summary}`
    : leftOutNote(messages);
  session.working = replaceRegion(session.working, region, cutToTokens(session, text, summaryTokens));
  const afterTokens = tokensOf(session, session.working);
  tell(session, { kind: "context-summarised", turn, messages: messages.length, beforeTokens, afterTokens });
}

/** A model that was too wordy loses the middle of its summary: it must not outgrow what it stands for. */
function cutToTokens({ window }: Session, text: string, maxTokens: number): string {
  let cut = text;
  for (let length = text.length; length > 0; length = Math.floor(length * 0.8)) {
    cut = cutMiddle(text, length);
    if (window.sizeOf({ role: "user", text: cut }) <= maxTokens) return cut;
  }
  return cut;
}

function tokensOf({ window }: Session, messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + window.sizeOf(message), 0);
}
