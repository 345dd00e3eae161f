import { describe, expect, test } from "vitest";
import { makeProcessTool } from "../../../src/agent/tools/process.ts";
import { Fault } from "../../../src/kernel/errors.ts";
import type { BackgroundProcess, Processes } from "../../../src/records/background.ts";
import { call, refusalOf } from "./room.ts";

const PROCESS: BackgroundProcess = {
  id: "proc_0123456789ab",
  command: "npm run dev",
  cwd: "/srv",
  environment: "local",
  ownerRunId: "run-1",
  pid: 42,
  state: "running",
  exitCode: undefined,
  startedAt: Date.parse("2026-11-30T10:00:00Z"),
  endedAt: undefined,
  outputBytes: 3,
};

const SHOWN = {
  id: "proc_0123456789ab",
  command: "npm run dev",
  cwd: "/srv",
  pid: 42,
  state: "running",
  exitCode: null,
  startedAt: "2026-11-30T10:00:00Z",
  endedAt: null,
  outputBytes: 3,
};

/** The port, answering from a script and telling what it was asked. The real one has its own suite. */
function scripted() {
  const asked: unknown[][] = [];
  const unknown = () => new Fault("process.unknown", "no process is called proc_x", { hint: "See `list`." });
  const processes: Processes = {
    start: async (options) => {
      asked.push(["start", options]);
      return PROCESS;
    },
    list: async () => [PROCESS],
    poll: async (id) => {
      if (id === "proc_x") throw unknown();
      return { process: PROCESS, output: "hi\n" };
    },
    log: async (id, options) => {
      asked.push(["log", id, options]);
      return { process: PROCESS, output: "x".repeat(200_000), isCut: true };
    },
    wait: async (id, { timeoutMs }) => {
      asked.push(["wait", id, timeoutMs]);
      return { status: "timeout", process: PROCESS, output: "hi\n" };
    },
    write: async (id, data) => void asked.push(["write", id, data]),
    closeStdin: async (id) => void asked.push(["close", id]),
    kill: async () => ({ process: { ...PROCESS, state: "killed" }, survivors: 1, wasRunning: true }),
    handOff: async () => ({ ...PROCESS, ownerRunId: undefined }),
    dispose: async () => ({ ended: 0, survivors: 0 }),
  };
  return { asked, tool: makeProcessTool(processes) };
}

describe("the process tool", () => {
  test("start, list and poll show the process as facts", async () => {
    const { asked, tool } = scripted();

    expect(await call(tool, { action: "start", command: "npm run dev", cwd: "/srv" })).toEqual({
      error: null,
      process: SHOWN,
    });
    expect(asked).toEqual([["start", { command: "npm run dev", cwd: "/srv" }]]);
    expect(await call(tool, { action: "list" })).toEqual({ error: null, processes: [SHOWN] });
    expect(await call(tool, { action: "poll", id: "proc_0" })).toEqual({
      error: null,
      process: SHOWN,
      output: "hi\n",
    });
  });

  test("a wait is at most 180 s, and says so when more was asked for", async () => {
    const { asked, tool } = scripted();

    expect(await call(tool, { action: "wait", id: "proc_0", timeoutSeconds: 3_600 })).toMatchObject({
      error: null,
      status: "timeout",
      note: "Waited 180 s, the most for one call.",
    });
    expect(asked).toEqual([["wait", "proc_0", 180_000]]);
  });

  test("a log is bounded, its tail kept", async () => {
    const { asked, tool } = scripted();

    const result = await call(tool, { action: "log", id: "proc_0", offset: 0, lines: 50 });

    expect(asked).toEqual([["log", "proc_0", { offset: 0, lines: 50 }]]);
    expect(String(result.output).length).toBeLessThan(30_100);
    expect(result.isCut).toBe(true);
  });

  test("write, close and kill reach it; survivors are an error", async () => {
    const { asked, tool } = scripted();

    expect(await call(tool, { action: "write", id: "proc_0", data: "y\n" })).toEqual({
      error: null,
      written: 2,
    });
    expect(await call(tool, { action: "close", id: "proc_0" })).toMatchObject({ error: null });
    expect(asked).toEqual([
      ["write", "proc_0", "y\n"],
      ["close", "proc_0"],
    ]);
    expect(await call(tool, { action: "kill", id: "proc_0" })).toMatchObject({
      error: "1 of its processes could not be ended.",
      survivors: 1,
    });
  });

  test("an id that nobody knows is a sentence, not the end of the run", async () => {
    const { tool } = scripted();

    expect(await call(tool, { action: "poll", id: "proc_x" })).toEqual({
      error: "no process is called proc_x. See `list`.",
    });
  });

  test("an action without what it needs is refused before anything happens", () => {
    const { tool } = scripted();

    expect(refusalOf(tool, { action: "kill" })).toContain("this action needs `id`");
    expect(refusalOf(tool, { action: "start" })).toContain("start needs `command`");
    expect(refusalOf(tool, { action: "write", id: "proc_0" })).toContain("write needs `data`");
    expect(refusalOf(tool, { action: "restart", id: "proc_0" })).toContain("one of start, list, poll");
  });
});
