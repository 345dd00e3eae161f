// `mcp`: Nightshift's tools for another agent, over standard input and output (S1 refuses callers inside a run).

import type { Context } from "../app/context.ts";
import { findRun } from "../app/runs.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import type { Io } from "./io.ts";

export const mcp: RunCommand = async ({ io, open }) => {
  // Standard output belongs to the protocol: the `stdout` target writes to standard error.
  const context = await open({ stdout: io.note });
  const stopping = untilStopped(io.signal);
  try {
    const { serveStdio } = await import("../mcp/serve-stdio.ts");
    await serveStdio({
      context,
      input: process.stdin,
      output: process.stdout,
      cwd: io.cwd,
      caller: await callerOf(context, io),
      signal: stopping.signal,
    });
  } finally {
    stopping.release();
  }
  return EXIT.ok;
};

/** The run this command stands in, where the config allows runs to schedule. */
async function callerOf(context: Context, { env }: Io) {
  const runId = env.NIGHTSHIFT_RUN_ID;
  if (!runId) return undefined;
  const run = await findRun(context, runId).catch(() => undefined);
  return { runId, jobId: run?.jobId };
}

/** Whoever started it may end it by a signal as well as by the end of input. */
function untilStopped(interrupted: AbortSignal): { signal: AbortSignal; release(): void } {
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error("asked to stop"));
  const names = ["SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.once(name, onSignal);
  interrupted.addEventListener("abort", onSignal, { once: true });
  if (interrupted.aborted) onSignal();
  return {
    signal: stop.signal,
    release() {
      for (const name of names) process.removeListener(name, onSignal);
      interrupted.removeEventListener("abort", onSignal);
    },
  };
}
