// One turn: the model is asked once, its calls are run, and the loop goes on or ends.
//
// I1. A strike is a turn whose calls were all malformed: a model can only mend what it was told of. Three in a row end
//     the loop; any call that could be run clears them.
// I2. A turn that met a broken environment is told to the model; two in a row end the loop.

import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import type { AgentEndReason } from "../../records/agent-event.ts";
import type { AssistantMessage } from "../../records/conversation.ts";
import type { ModelReply } from "../../records/model.ts";
import { type Asked, askModel } from "./ask-model.ts";
import { type CallTally, refuseCalls, runCalls } from "./run-calls.ts";
import { addMessage, type Session, tell } from "./session.ts";

const MALFORMED_TURNS = 3;
const BROKEN_TURNS = 2;
const WHY_CHARACTERS = 500;

const LAST_TURN = `No turn is left: you cannot call tools any more. Answer now, with what you know. Say what is done, what is \
not, and what you could not find out.`;

/** Why a loop ends, and what is known of it. `error` untouched, `why` not yet redacted. */
export interface Ending {
  reason: AgentEndReason;
  why: string;
  error?: unknown;
  isCut?: boolean;
}

/** Undefined = another turn follows. Never rejects for an expected end. */
export async function takeTurn(session: Session): Promise<Ending | undefined> {
  session.turn += 1;
  const { turn, deps } = session;
  tell(session, { kind: "turn-started", turn });
  const isLast = turn > deps.maxTurns;
  if (isLast) addMessage(session, { role: "user", origin: "lastTurn", text: LAST_TURN });
  const asked = await askModel(session, isLast ? "none" : "auto");
  const ending = asked.ok ? await heed(session, asked.reply, isLast) : endOfFailure(session, asked);
  tell(session, { kind: "turn-finished", turn });
  return ending;
}

/** Adds the reply and does what it wants. */
async function heed(session: Session, reply: ModelReply, isLast: boolean): Promise<Ending | undefined> {
  const message = assistantMessage(reply);
  addMessage(session, message);
  const { toolCalls } = message;
  if (isLast) {
    refuseCalls(session, toolCalls, "Not run: no turn is left.");
    return endOfLastTurn(session, reply);
  }
  if (reply.finish === "filter") {
    refuseCalls(session, toolCalls, "Not run: the provider's filter cut the reply.");
    return { reason: "failed", why: "The provider's content filter refused the reply or cut it off." };
  }
  if (toolCalls.length === 0) return endOfAnswer(reply);
  const tally = await runCalls(session, toolCalls, { isCut: reply.finish === "length" });
  return session.ctx.signal.aborted ? interrupted(session) : endOfCalls(session, tally);
}

function endOfAnswer(reply: ModelReply): Ending {
  const isCut = reply.finish === "length";
  if (reply.text.trim() !== "") return { reason: "answered", why: "", isCut };
  const why = isCut
    ? "The model used up its maximum output without writing an answer."
    : "The model ended without any text.";
  return { reason: "empty", why };
}

/** Without an answer even now it is a failure, whatever was said on the way. */
function endOfLastTurn({ deps }: Session, reply: ModelReply): Ending {
  const used = `The agent used all of its ${deps.maxTurns} turns and`;
  if (reply.text.trim() === "") return { reason: "empty", why: `${used} did not answer when told to.` };
  const why = `${used} was told to answer with what it had.`;
  return { reason: "maxTurns", why, isCut: reply.finish === "length" };
}

/** Keeps the text that had come. */
function endOfFailure(session: Session, { error, partial }: Extract<Asked, { ok: false }>): Ending {
  if (partial.trim() !== "") addMessage(session, { role: "assistant", text: partial, toolCalls: [] });
  if (session.ctx.signal.aborted) return interrupted(session);
  return {
    reason: "failed",
    why: whyFailed(session, error),
    error,
  };
}

/** One bounded line: the whole error goes along untouched. */
function whyFailed({ model, turn, deps }: Session, error: unknown): string {
  // Redacted before it is cut: half a secret has no pattern.
  const said = deps.redact(isFault(error) ? sayFault(error) : messageOf(error));
  const line = said.replace(/\s+/g, " ").trim().slice(0, WHY_CHARACTERS);
  return `The model ${model} failed in turn ${turn}: ${line || "it gave no reason"}`;
}

function endOfCalls(session: Session, tally: CallTally): Ending | undefined {
  const isStrike = tally.malformed === tally.calls;
  session.malformedTurns = isStrike ? session.malformedTurns + 1 : 0;
  if (!isStrike) session.brokenTurns = tally.fault === undefined ? 0 : session.brokenTurns + 1;
  if (session.malformedTurns >= MALFORMED_TURNS) {
    return {
      reason: "malformedCalls",
      why: `${MALFORMED_TURNS} turns in a row held only malformed tool calls. The last one: ${tally.malformedError}`,
    };
  }
  if (session.brokenTurns >= BROKEN_TURNS) {
    const why = `The place where commands run was broken in ${BROKEN_TURNS} turns in a row.`;
    return { reason: "failed", why, error: tally.fault };
  }
  return undefined;
}

function interrupted({ turn }: Session): Ending {
  return { reason: "interrupted", why: `Interrupted in turn ${turn}.` };
}

function assistantMessage(reply: ModelReply): AssistantMessage {
  return {
    role: "assistant",
    text: reply.text,
    ...(reply.reasoning !== "" && { reasoning: reply.reasoning }),
    toolCalls: reply.toolCalls,
    ...(reply.providerParts && { providerParts: reply.providerParts }),
  };
}
