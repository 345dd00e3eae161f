// Runs once around the whole suite. The PostgreSQL for tests starts on first use (support/postgres.ts) and ends here.
//
// I1. The guardian is a shell that reads from us: when we close the pipe, or die, it ends the server and removes its
//     folder. It has a session of its own, so that Ctrl-C does not end it first.

import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FOLDER_VARIABLE } from "./postgres.ts";

const GUARDIAN = `
read -r _
pid=$(head -n 1 "$1/server/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL "$pid" 2>/dev/null
fi
rm -rf "$1"
`;

/** Ends the server in `folder`, if one runs, and removes the folder, once `end` is called or this process is gone. */
export async function guardFolder(folder: string): Promise<{ end(): Promise<void> }> {
  const guardian = spawn("/bin/sh", ["-c", GUARDIAN, "sh", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = new Promise<void>((resolve) => guardian.once("close", () => resolve()));
  return {
    async end() {
      guardian.stdin.end();
      await ended;
    },
  };
}

export default async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "nightshift-postgres-"));
  process.env[FOLDER_VARIABLE] = folder;
  const guardian = await guardFolder(folder);
  return () => guardian.end();
}
