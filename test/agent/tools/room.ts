// What the tests of tools share: a real shell as the environment, and one call from arguments to result.

import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Fault } from "../../../src/kernel/errors.ts";
import type { CommandResult, Environment, ExecOptions } from "../../../src/records/environment.ts";
import type { Tool, ToolResult } from "../../../src/records/tool.ts";

/** Bash in `cwd`, without the session's memory: what the tools need of any backend. */
export function shellEnvironment(cwd: string, env: Record<string, string> = {}): Environment {
  const missing = (path: string) =>
    new Fault("environment.file-missing", `${path} does not exist`, { hint: "Check the path." });
  return {
    backend: "local",
    label: "local",
    cwd,
    ownFolder: cwd,
    exec: (command, options) => run(command, { cwd, ...options, env: { ...env, ...options.env } }),
    spawn: () => Promise.reject(new Error("these tests start no background process")),
    async readFile(path, { maxBytes = Number.POSITIVE_INFINITY }) {
      const found = await stat(path).catch(() => {
        throw missing(path);
      });
      if (!found.isFile() || found.size > maxBytes)
        throw new Fault("environment.file-refused", `${path} is no file of at most ${maxBytes} bytes`, {
          hint: "Read a part of it.",
        });
      return await readFile(path);
    },
    async writeFile(path, data, { mode = 0o644 }) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.tmp`, data);
      await chmod(`${path}.tmp`, mode);
      await rename(`${path}.tmp`, path);
    },
    dispose: () => Promise.resolve({ survivors: 0 }),
  };
}

async function run(command: string, options: ExecOptions): Promise<CommandResult> {
  const started = performance.now();
  const cwd = resolve(options.cwd ?? "/");
  const child = spawn("/bin/bash", ["-c", command], {
    cwd,
    env: { PATH: process.env.PATH, HOME: "/nowhere", ...options.env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const maxBytes = options.maxBytes ?? 1_000_000;
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  for (const name of ["stdout", "stderr"] as const)
    child[name].on("data", (chunk: Buffer) => {
      kept[name].push(chunk);
      options.onActivity?.("output");
    });
  let ended: "timeout" | "interrupt" | undefined;
  const end = (why: "timeout" | "interrupt") => {
    ended = why;
    process.kill(-(child.pid ?? 0), "SIGKILL");
  };
  const timer = options.timeoutMs ? setTimeout(end, options.timeoutMs, "timeout") : undefined;
  const abort = () => end("interrupt");
  options.signal.addEventListener("abort", abort, { once: true });
  const exitCode = await new Promise<number>((done) => child.once("close", (code) => done(code ?? 137)));
  clearTimeout(timer);
  options.signal.removeEventListener("abort", abort);
  const [stdout, stderr] = [Buffer.concat(kept.stdout), Buffer.concat(kept.stderr)];
  return {
    exitCode: ended === "timeout" ? 124 : ended === "interrupt" ? 130 : exitCode,
    stdout: stdout.subarray(Math.max(0, stdout.length - maxBytes)),
    stderr: stderr.subarray(Math.max(0, stderr.length - maxBytes)),
    timedOut: ended === "timeout",
    interrupted: ended === "interrupt",
    truncated: stdout.length > maxBytes || stderr.length > maxBytes,
    durationMs: Math.round(performance.now() - started),
    cwd,
  };
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Told each activity. */
  touch?(activity: string): void;
}

/** Prepares and runs. A refusal of the arguments fails the test. */
export async function call(tool: Tool, args: unknown, options: CallOptions = {}): Promise<ToolResult> {
  const prepared = tool.prepare(args);
  if (!prepared.ok) throw new Error(prepared.error);
  return await prepared.call.run({
    callId: "call-1",
    runId: "run-1",
    signal: options.signal ?? new AbortController().signal,
    touch: options.touch ?? (() => {}),
  });
}

/** The sentence by which arguments are refused; undefined = they fit. */
export function refusalOf(tool: Tool, args: unknown): string | undefined {
  const prepared = tool.prepare(args);
  return prepared.ok ? undefined : prepared.error;
}
