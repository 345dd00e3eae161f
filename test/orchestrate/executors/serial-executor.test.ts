// A serial line as an attempt, against a pseudo-terminal: a real tty whose other end is a small device in Python.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeTurns, serialAttempt } from "../../../src/orchestrate/executors/serial-executor.ts";
import type { SerialWork } from "../../../src/records/executor-config.ts";
import { makeContext } from "../../execute/room.ts";
import { hasPython } from "../../support/python.ts";
import { callOf } from "./call.ts";

/** Prints its tty's path, then answers each line of it as `answer` (Python, with `line`) says. */
const device = (answer: string) => `
import os, sys, tty
own, theirs = os.openpty()
tty.setraw(own)
print(os.ttyname(theirs), flush=True)
rest = b""
while True:
    try:
        rest += os.read(own, 1000)
    except OSError:
        break
    while b"\\n" in rest:
        line, rest = rest.split(b"\\n", 1)
        print("got", line.decode(), flush=True)
        ${answer}
`;

async function plug(answer: string) {
  const child = spawn("python3", ["-c", device(answer)], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  createInterface(child.stdout).on("line", (line) => {
    lines.push(line);
    for (const look of waiting.splice(0)) look();
  });
  const line = async (at: number): Promise<string> => {
    while (lines.length <= at) await new Promise<void>((resolve) => waiting.push(resolve));
    return lines[at] ?? "";
  };
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { path: await line(0), got: (at: number) => line(at + 1) };
}

const turns = makeTurns();
const attempt = (work: Partial<SerialWork> & { path: string }) =>
  serialAttempt({ resolve: (text) => text, turns }, "scale", {
    ...{ baudRate: undefined, write: undefined, delimiter: "\n", lines: 1, ...work },
  });

describe.skipIf(!hasPython())("a serial executor", () => {
  test("writes a line with its templates filled and reads the answer", async () => {
    const { path, got } = await plug('os.write(own, b"12.5 kg\\r\\n")');

    const outcome = await (await attempt({ path, write: "READ {{ params.channel }}" }))(
      callOf({ channel: 2 }),
    );

    expect(outcome).toMatchObject({ state: "succeeded", output: "12.5 kg", result: { line: "12.5 kg" } });
    expect(await got(0)).toBe("got READ 2");
  });

  test("reads as many lines as are asked for, in whatever pieces they come", async () => {
    const { path } = await plug('os.write(own, b"a\\nb"); os.write(own, b"b\\nc\\n")');

    expect(await (await attempt({ path, write: "GO", lines: 3 }))(callOf({}))).toMatchObject({
      result: { lines: ["a", "bb", "c"] },
    });
  });

  test("two attempts on one device take turns", async () => {
    const { path } = await plug('os.write(own, line + b" done\\n")');
    const run = await attempt({ path, write: "{{ params.n }}" });

    const outcomes = await Promise.all([1, 2, 3].map((n) => run(callOf({ n }))));

    expect(outcomes.map((outcome) => outcome.output)).toEqual(["1 done", "2 done", "3 done"]);
  });

  test("a cancel ends the wait for a device that says nothing, and frees it for others", async () => {
    const { path, got } = await plug('os.write(own, b"awake\\n") if line == b"WAKE" else None');
    const ctx = makeContext();
    const silent = (await attempt({ path, write: "HELLO" }))(callOf({}, { ctx }));
    await got(0);
    ctx.abort({ kind: "cancel", by: "ada" });

    expect(await silent).toEqual({ state: "cancelled", by: "ada" });
    expect(await (await attempt({ path, write: "WAKE" }))(callOf({}))).toMatchObject({ output: "awake" });
  });

  test("a device that is not there is unavailable, and so is what is no serial line", async () => {
    expect(await (await attempt({ path: "/dev/nightshift-none" }))(callOf({}))).toMatchObject({
      error: { code: "unavailable" },
    });
    expect(await (await attempt({ path: "/dev/null" }))(callOf({}))).toMatchObject({
      error: { code: "unavailable", message: expect.stringContaining("no serial line") },
    });
  });
});
