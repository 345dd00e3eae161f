// Running a program of ours (docker, ssh) to its end, for what it answers.
//
// I1. Bounded in time and output; an abort ends it. The node's environment is the client's, never a command's.

import { linkAbort } from "../../kernel/abort.ts";
import type { Clock } from "../../kernel/time.ts";
import { captureStream } from "../capture.ts";
import { launchProcess } from "./launch-process.ts";

export interface ClientAnswer {
  /** Undefined = ended by a signal, or by us. */
  exitCode: number | undefined;
  stdout: string;
  stderr: string;
}

export interface ClientCall {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  stdin?: string | Uint8Array;
  timeoutMs: number;
  signal?: AbortSignal;
}

const MOST_BYTES = 256_000;

/** Rejects with the signal's reason, or with `environment.broken` when the program cannot be started. */
export async function runClient(clock: Clock, call: ClientCall): Promise<ClientAnswer> {
  call.signal?.throwIfAborted();
  const launched = await launchProcess({ ...call, hasStdin: call.stdin !== undefined });
  const captures = [launched.stdout, launched.stderr].map(
    (stream) => stream && captureStream(stream, { maxBytes: MOST_BYTES, onChunk: () => {} }),
  );
  const timer = linkAbort(call.signal);
  try {
    if (call.stdin !== undefined) launched.stdin?.end(call.stdin);
    const ended = Promise.all([launched.exited, ...captures.map((capture) => capture?.ended)]);
    const exit = await Promise.race([
      ended.then(([done]) => done),
      clock.sleep(call.timeoutMs, timer.signal).then(
        () => undefined,
        () => undefined,
      ),
    ]);
    call.signal?.throwIfAborted();
    const [stdout = "", stderr = ""] = captures.map((capture) => capture?.tail.text());
    return { exitCode: exit?.exitCode, stdout, stderr };
  } finally {
    timer.abort(new Error("the client has answered"));
    timer.release();
    launched.drop();
  }
}

/** The last line a program said, for a message. */
export function lastLine({ stdout, stderr }: ClientAnswer): string {
  return (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
}
