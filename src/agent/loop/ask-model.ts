// One question to the model: the conversation made to fit, what arrives told as it comes, a refusal as too long mended once.

import { makeRedactStream } from "../../kernel/redact-stream.ts";
import type { ModelChunk, ModelReply, ModelRequest } from "../../records/model.ts";
import { specOf } from "./context-window.ts";
import { fitContext } from "./fit-context.ts";
import { countReply, type Session, tell, touch } from "./session.ts";

/** `error` is what the port threw, untouched; `partial` the text that had come until then, not redacted. */
export type Asked = { ok: true; reply: ModelReply } | { ok: false; error: unknown; partial: string };

/** Never rejects for what a model port may reject with. */
export async function askModel(
  session: Session,
  toolChoice: NonNullable<ModelRequest["toolChoice"]>,
): Promise<Asked> {
  await fitContext(session);
  const asked = await callOnce(session, toolChoice);
  if (asked.ok || !isTooLong(session, asked.error)) return asked;
  session.window.shrink(session.working);
  // What cannot be made shorter would be refused again.
  return (await fitContext(session)) ? await callOnce(session, toolChoice) : asked;
}

async function callOnce(
  session: Session,
  toolChoice: NonNullable<ModelRequest["toolChoice"]>,
): Promise<Asked> {
  const { deps, ctx, working } = session;
  const { maxOutputTokens } = deps.window;
  const listener = listenTo(session);
  const request = {
    messages: working,
    tools: deps.tools.map(specOf),
    toolChoice,
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
  try {
    const reply = await deps.callModel(request, {
      role: "primary",
      signal: ctx.signal,
      onChunk: listener.hear,
      // No `onActivity`: an attempt that begins or a wait for the next one is no activity (L14).
    });
    session.window.learn(working, reply.usage);
    countReply(session, reply);
    return { ok: true, reply };
  } catch (error) {
    return { ok: false, error, partial: listener.text() };
  } finally {
    listener.end();
  }
}

function isTooLong({ deps, ctx }: Session, error: unknown): boolean {
  return !ctx.signal.aborted && deps.errorClassOf?.(error) === "contextLength";
}

/** Tells what arrives, redacted across the borders of its pieces, and counts each piece as life (L14). */
function listenTo(session: Session): { hear(chunk: ModelChunk): void; text(): string; end(): void } {
  const { turn, model } = session;
  const openStreams = () => ({
    text: makeRedactStream(session.deps.redact),
    reasoning: makeRedactStream(session.deps.redact),
  });
  let streams = openStreams();
  let heard = "";
  const pass = (kind: "text" | "reasoning", text: string) => {
    if (text !== "") tell(session, { kind: `${kind}-arrived`, turn, text });
  };
  return {
    hear(chunk) {
      if (chunk.kind === "restart") {
        heard = "";
        streams = openStreams();
        return tell(session, { kind: "reply-restarted", turn });
      }
      if (chunk.kind === "toolCall") {
        return touch(session, `model ${model}: calls ${session.deps.redact(chunk.name).slice(0, 60)}`);
      }
      touch(session, `model ${model}: ${chunk.kind}`);
      if (chunk.kind === "text") heard += chunk.text;
      pass(chunk.kind, streams[chunk.kind].push(chunk.text));
    },
    text: () => heard,
    end() {
      pass("reasoning", streams.reasoning.end());
      pass("text", streams.text.end());
    },
  };
}
