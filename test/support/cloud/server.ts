// Starts one of the services that stand for a cloud in tests, as a program of its own.

import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";

export interface SandboxFacts {
  id: string;
  name: string;
  labels: Record<string, string>;
  state: string;
}

export interface CloudServer {
  url: string;
  /** Sandboxes that are not removed. */
  sandboxes(): Promise<SandboxFacts[]>;
  /** Tells the server something; see its own commands. */
  tell<Answer = unknown>(command: string, message?: Record<string, unknown>): Promise<Answer>;
  /** Ends it with every sandbox. */
  stop(): Promise<void>;
}

/** Why none can run here; undefined when they can. */
export function whyNoCloud(): string | undefined {
  return process.platform === "linux" ? undefined : "sandboxes are found by /proc";
}

export async function startCloud(backend: "modal" | "daytona" | "vercel"): Promise<CloudServer> {
  // Not below /tmp: a sandbox has one of its own.
  const folder = join("/var/tmp", `nightshift-cloud-${process.pid}-${randomBytes(4).toString("hex")}`);
  const program = join(import.meta.dirname, `${backend}-server.mjs`);
  // Nothing of ours but the PATH: what a sandbox could see of it would be a leak of the test's, not of the code's.
  const child = fork(program, [folder], { env: { PATH: process.env.PATH }, execArgv: [], stdio: "inherit" });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const waiting = new Map<number, (told: Told) => void>();
  let count = 0;
  const tell = async <Answer>(command: string, message: Record<string, unknown> = {}) => {
    if (!child.connected) throw new Error(`the ${backend} server has ended`);
    count += 1;
    const ticket = count;
    child.send({ ticket, command, ...message });
    const told: Told = await Promise.race([
      new Promise<Told>((resolve) => waiting.set(ticket, resolve)),
      ended.then(() => ({ error: `the ${backend} server has ended` })),
    ]);
    waiting.delete(ticket);
    if (told.error !== undefined) throw new Error(told.error);
    return told.answer as Answer;
  };
  const port = await listening(child, ended);
  child.on("message", ({ ticket, ...told }: Told & { ticket: number }) => waiting.get(ticket)?.(told));
  return {
    url: `http://127.0.0.1:${port}`,
    sandboxes: () => tell("state"),
    tell,
    async stop() {
      if (child.connected) await tell("stop").catch(() => {});
      child.kill();
      await ended;
    },
  };
}

interface Told {
  answer?: unknown;
  error?: string;
}

function listening(child: ChildProcess, ended: Promise<void>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("message", ({ port }: { port: number }) => resolve(port));
    void ended.then(() => reject(new Error("the server did not start")));
  });
}
