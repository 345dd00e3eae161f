// The built CLI as people meet it: a process of its own on a real home.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { tempFolder } from "../support/temp.ts";

const BIN = join(import.meta.dirname, "../../bin/nightshift.js");
const NODE = process.env.NIGHTSHIFT_TEST_NODE ?? process.execPath;

export interface Ended {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  env?: Record<string, string>;
  stdin?: string;
}

export interface CliHome {
  path: string;
  /** Runs one command to its end. */
  run(args: readonly string[], options?: CliOptions): Promise<Ended>;
  /** The document that a command prints with `--json`; the command must exit with 0. */
  json<T = never>(...args: string[]): Promise<T>;
  /** Starts a command that goes on; it is killed when the test has finished. */
  start(args: readonly string[], options?: CliOptions): Running;
  /** Writes a file below the home. Files in jobs/ look five seconds old, so that they count at first sight (D2). */
  write(name: string, text: string | Uint8Array): Promise<void>;
  read(name: string): Promise<string>;
  list(folder: string): Promise<string[]>;
}

export interface Running {
  child: ChildProcessWithoutNullStreams;
  ended: Promise<Ended>;
  /** Resolves when stdout or stderr has matched; rejects when the process ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

/** A fresh home with scripts `hi.sh`, `fail.sh` and `slow.sh`. */
export async function cliHome(
  options: { env?: Record<string, string>; path?: string } = {},
): Promise<CliHome> {
  const folder = await tempFolder();
  const path = options.path ?? join(folder, "home");
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    TMPDIR: folder,
    TZ: "UTC",
    USER: "ada",
    NIGHTSHIFT_HOME: path,
    ...options.env,
  };
  const write = async (name: string, text: string | Uint8Array) => {
    const file = join(path, name);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, text, { mode: 0o600 });
    const before = Date.now() / 1_000 - 5;
    await utimes(file, before, before);
  };
  const start: CliHome["start"] = (args, more = {}) =>
    startCli(args, { ...more, env: { ...env, ...more.env } });
  const home: CliHome = {
    path,
    start,
    write,
    run: (args, more) => start(args, more).ended,
    async json(...args) {
      const ended = await home.run([...args, "--json"]);
      expect({ exitCode: ended.exitCode, stderr: ended.exitCode === 0 ? "" : ended.stderr }).toEqual({
        exitCode: 0,
        stderr: "",
      });
      return JSON.parse(ended.stdout);
    },
    read: (name) => readFile(join(path, name), "utf8"),
    list: async (name) => (await readdir(join(path, name))).sort(),
  };
  await mkdir(join(path, "jobs"), { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  await write("scripts/hi.sh", '#!/bin/sh\necho "hi from $NIGHTSHIFT_JOB_ID"\n');
  await write("scripts/fail.sh", "echo oops >&2\nexit 3\n");
  await write("scripts/slow.sh", "echo begun\nsleep 30\n");
  return home;
}

function startCli(args: readonly string[], { env, stdin }: CliOptions): Running {
  const child = spawn(NODE, [BIN, ...args], { env: env ?? {} });
  const output = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      for (const listener of listeners) listener();
    });
  }
  child.stdin.on("error", () => {});
  child.stdin.end(stdin ?? "");
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => resolve({ exitCode, ...output }));
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, ended, said: (pattern) => waitFor({ pattern, output, listeners, ended }) };
}

interface Listening {
  pattern: RegExp;
  output: { stdout: string; stderr: string };
  listeners: Set<() => void>;
  ended: Promise<Ended>;
}

function waitFor({ pattern, output, listeners, ended }: Listening): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(`${output.stdout}\n${output.stderr}`);
      if (!match) return false;
      listeners.delete(look);
      resolve(match);
      return true;
    };
    listeners.add(look);
    if (look()) return;
    void ended.then((end) => {
      if (!look()) reject(new Error(`ended without ${pattern}: ${JSON.stringify(end)}`));
    });
  });
}

/** An error in text form: exit code, nothing on stdout, one line on stderr, which is returned. */
export function oneLine(ended: Ended, exitCode = 2): string {
  expect({ exitCode: ended.exitCode, stdout: ended.stdout }).toEqual({ exitCode, stdout: "" });
  const lines = ended.stderr.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^nightshift: /);
  return (lines[0] ?? "").slice("nightshift: ".length);
}
