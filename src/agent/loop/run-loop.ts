// The agent loop: asks a model, runs the tools it calls, tells events, and stops on an answer or a limit (DESIGN §11).
//
//   agent-started
//     turn-started → text-arrived* → message-added (assistant)
//       → tool-started, tool-finished, message-added (tool) for each call → turn-finished
//   agent-finished
//
// I1. It never throws for an expected end: an answer, a limit, an interrupt, a model or an environment that failed.
// I2. Every event and everything it hands back is redacted, but for `error`, which is the thrown object itself.
// I3. Silence is measured by who gave `touch`: tokens and tools are activity, waiting is none (L14).

import type { Message } from "../../records/conversation.ts";
import type { Conversation, LoopContext, LoopDeps, LoopEnd } from "./loop-types.ts";
import { openSession, type Session, tell } from "./session.ts";
import { type Ending, takeTurn } from "./take-turn.ts";

export async function runLoop(
  deps: LoopDeps,
  conversation: Conversation,
  ctx: LoopContext,
): Promise<LoopEnd> {
  const session = openSession(deps, conversation, ctx);
  let ending: Ending | undefined;
  while (ending === undefined) {
    ending = ctx.signal.aborted
      ? { reason: "interrupted", why: whenNoTurn(session) }
      : await takeTurn(session);
  }
  return finish(session, ending);
}

function finish(session: Session, { reason, why, error, isCut = false }: Ending): LoopEnd {
  const { turn: turns, calls, usage, costUsd, whole, deps } = session;
  tell(session, { kind: "agent-finished", reason, turns, calls, usage, costUsd });
  return {
    reason,
    text: newestText(whole),
    isCut,
    why: deps.redact(why),
    error,
    turns,
    calls,
    usage,
    costUsd,
    messages: whole,
  };
}

/** The newest text of the model that is not blank: the answer, or what there is of one. */
function newestText(messages: readonly Message[]): string {
  return (
    messages.findLast((message) => message.role === "assistant" && message.text.trim() !== "")?.text ?? ""
  );
}

function whenNoTurn({ turn }: Session): string {
  return turn === 0 ? "Interrupted before the first turn." : `Interrupted after turn ${turn}.`;
}
