// A Redis for the peers that need one.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "./measure.ts";

const run = promisify(execFile);

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** A Redis of our own on a free port; undefined where there is none. */
export async function withRedis<T>(
  settings: string[],
  work: (port: string) => Promise<T>,
): Promise<T | undefined> {
  if (!(await run("redis-server", ["--version"]).catch(() => undefined))) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "nightshift-redis-"));
  const port = String(await freePort());
  const server = spawn("redis-server", ["--port", port, "--dir", folder, "--save", "", ...settings], {
    stdio: "ignore",
  });
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => resolve(true)).once("error", () =>
        resolve(false),
      );
      socket.once("connect", () => socket.end());
    });
  try {
    await until("Redis's start", isUp, 10_000);
    return await work(port);
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}
