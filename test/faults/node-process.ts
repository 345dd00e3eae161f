// A real node (`nightshift up --json`) as a child process whose lines can be waited for, and the CLI beside it.
//
// I1. Nothing waits by sleeping: a test waits for a document on stdout, for the exit, or for the ledger.
// I2. Whatever a test does, its nodes and their runs are gone when it has finished.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { RunDocument } from "../../src/app/documents.ts";

const BIN = join(import.meta.dirname, "../../bin/nightshift.js");
/** The Node under test; `npm test` names another one for its second and third round. */
const NODE = process.env.NIGHTSHIFT_TEST_NODE ?? process.execPath;
const WAIT_MS = 15_000;

export type NodeEvent =
  | { event: "ready"; nodeId: string; home: string }
  | { event: "run"; run: RunDocument }
  | { event: "slots"; jobId: string; state: string; reason: string; count: number };

export interface NodeProcess {
  readonly pid: number;
  readonly events: readonly NodeEvent[];
  /** Everything the node has said on stderr. */
  readonly stderr: () => string;
  /** The next document from here on, or one that came already, that fits. Rejects when the node ends first, or after `ms`. */
  when<Found extends NodeEvent>(fits: (event: NodeEvent) => event is Found, ms?: number): Promise<Found>;
  when(fits: (event: NodeEvent) => boolean, ms?: number): Promise<NodeEvent>;
  signal(name: NodeJS.Signals): void;
  /** Resolves with code and signal; never rejects. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

interface Waiter {
  fits(event: NodeEvent): boolean;
  resolve(event: NodeEvent): void;
  reject(error: Error): void;
}

export interface StartOptions {
  home: string;
  env?: Record<string, string>;
  args?: readonly string[];
  /** A command that runs the node, e.g. in a pid namespace of its own. Signals go to it, not to the node. */
  wrap?: readonly string[];
}

/** The environment of a process under test: nothing of the suite's own home leaks into it. */
export function testEnv(home: string, env: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home, TZ: "UTC", NO_COLOR: "1", ...env };
}

/** Starts a node without waiting for it. It is killed when the test has finished. */
export function spawnNode({ home, env, args = [], wrap = [] }: StartOptions): NodeProcess {
  const command = [...wrap, NODE, BIN, "--home", home, "--json", "up", "--no-http", ...args];
  const child = spawn(command[0]!, command.slice(1), {
    env: testEnv(home, env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const node = follow(child);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await node.exited;
  });
  return node;
}

/** Starts a node and waits until it fires. */
export async function startNode(options: StartOptions): Promise<NodeProcess> {
  const node = spawnNode(options);
  await node.when(({ event }) => event === "ready");
  return node;
}

function follow(child: ChildProcess): NodeProcess {
  const events: NodeEvent[] = [];
  let waiters: Waiter[] = [];
  let stderr = "";
  const settle = (waiter: Waiter) => {
    waiters = waiters.filter((other) => other !== waiter);
  };
  createInterface({ input: child.stdout! }).on("line", (line) => {
    if (!line.startsWith("{")) return;
    const event = JSON.parse(line) as NodeEvent;
    events.push(event);
    for (const waiter of waiters) {
      if (!waiter.fits(event)) continue;
      settle(waiter);
      waiter.resolve(event);
    }
  });
  child.stderr!.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const exited: NodeProcess["exited"] = new Promise((resolve) => {
    child.once("close", (code, signal) => {
      resolve({ code, signal });
      for (const waiter of waiters) waiter.reject(new Error(`the node ended (${code ?? signal}): ${stderr}`));
      waiters = [];
    });
  });
  const when = (fits: (event: NodeEvent) => boolean, ms = WAIT_MS) =>
    new Promise<NodeEvent>((resolve, reject) => {
      const known = events.find(fits);
      if (known) return resolve(known);
      if (child.exitCode !== null || child.signalCode !== null)
        return reject(new Error(`the node has ended: ${stderr}`));
      const waiter: Waiter = {
        fits,
        resolve: (event) => {
          clearTimeout(timer);
          resolve(event);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        settle(waiter);
        reject(new Error(`no such document within ${ms} ms; ${events.length} came. stderr: ${stderr}`));
      }, ms);
      waiters.push(waiter);
    });
  return {
    pid: child.pid!,
    events,
    stderr: () => stderr,
    when: when as NodeProcess["when"],
    signal: (name) => void child.kill(name),
    exited,
  };
}

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs one command of the CLI to its end. */
export async function cli(
  { home, env, input }: { home: string; env?: Record<string, string> | undefined; input?: string },
  ...args: string[]
): Promise<CliResult> {
  const child = spawn(NODE, [BIN, "--home", home, "--json", ...args], {
    env: testEnv(home, env),
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    stderr += String(chunk);
  });
  const code = await new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  return { code, stdout, stderr };
}

export const isRun = (event: NodeEvent): event is Extract<NodeEvent, { event: "run" }> =>
  event.event === "run";
