// Entry of the CLI: reads the process once, hands plain values on.

import { readFileSync } from "node:fs";
import { chooseHome } from "../app/choose-home.ts";
import { openContext } from "../app/open-context.ts";
import { runProgram } from "./program.ts";

/** Runs `argv` (without node and script) and sets the process's exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  const abort = new AbortController();
  const onInterrupt = () => abort.abort(new Error("interrupted"));
  process.once("SIGINT", onInterrupt);
  // `nightshift run list | head`: whoever closed the pipe has read enough. A node goes on without it.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    onInterrupt();
  });
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const exitCode = await runProgram(argv, {
    version,
    signal: abort.signal,
    chooseHome: (options) => chooseHome({ ...options, env: process.env }),
    watchWorker: new URL("./watch-worker.js", import.meta.url),
    openContext: (home, options) => openContext({ ...home, ...options, env: process.env, version }),
  });
  process.removeListener("SIGINT", onInterrupt);
  process.exitCode = exitCode;
}
