// `nightshift mcp`: one session over standard input and output, ended with them.
//
// I1. Nothing but the protocol goes to `output`.
// I2. The end of `input`, or `signal`, ends the session: calls under way get a moment, then everything it started ends.

import type { Readable, Writable } from "node:stream";
import { openSession, type SessionOptions } from "../app/agent-tools/session.ts";
import type { Context } from "../app/context.ts";
import { linkAbort, whenAborted } from "../kernel/abort.ts";
import { messageOf } from "../kernel/errors.ts";
import { SECOND } from "../kernel/time.ts";
import { type McpServer, makeServer } from "./make-server.ts";

/** What was asked right before the end is still answered. */
const LAST_ANSWERS_MS = 2 * SECOND;

export interface StdioOptions {
  context: Context;
  input: Readable;
  output: Writable;
  /** Where background commands begin. */
  cwd: string;
  caller: SessionOptions["caller"];
  signal: AbortSignal;
}

/** Resolves when the session has ended and nothing of it is left. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { context, input, output, cwd, caller, signal } = options;
  const sdk = await import("./sdk.ts");
  const session = openSession({ context, cwd, caller, isNode: false });
  const made = makeServer(sdk, session, context);
  const ended = whenEnded(input, output, signal);
  try {
    made.server.onerror = (error) => context.log.warn("mcp-message-refused", { error: messageOf(error) });
    await made.server.connect(new sdk.StdioServerTransport(input, output));
    await ended.promise;
    if (!signal.aborted) await lastAnswers(context, made);
  } finally {
    ended.release();
    await made.server.close();
    await session.close();
  }
}

async function lastAnswers({ clock }: Context, { whenIdle }: McpServer): Promise<void> {
  // Messages that came with the end are handed out in this turn.
  await new Promise((resolve) => setImmediate(resolve));
  const patience = linkAbort();
  try {
    await Promise.race([whenIdle(), clock.sleep(LAST_ANSWERS_MS, patience.signal).catch(() => {})]);
  } finally {
    patience.abort("done");
    patience.release();
  }
}

/** The first of: no more input, nobody reads the output, `signal`. */
function whenEnded(
  input: Readable,
  output: Writable,
  signal: AbortSignal,
): { promise: Promise<void>; release(): void } {
  const aborted = whenAborted(signal);
  let resolve = () => {};
  const closed = new Promise<void>((done) => {
    resolve = done;
  });
  const onEnd = () => resolve();
  for (const event of ["end", "close", "error"]) input.once(event, onEnd);
  // Somebody must listen, or a broken pipe ends the process with a stack trace.
  output.on("error", onEnd);
  return {
    promise: Promise.race([closed, aborted.promise]).then(() => {}),
    release() {
      aborted.release();
      for (const event of ["end", "close", "error"]) input.removeListener(event, onEnd);
    },
  };
}
