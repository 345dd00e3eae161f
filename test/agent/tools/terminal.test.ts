import { describe, expect, test } from "vitest";
import { makeTerminalTool } from "../../../src/agent/tools/terminal.ts";
import { tempFolder } from "../../support/temp.ts";
import { call, refusalOf, shellEnvironment } from "./room.ts";

async function terminal(maxTimeoutSeconds?: number) {
  const cwd = await tempFolder();
  return { cwd, tool: makeTerminalTool({ environment: shellEnvironment(cwd), maxTimeoutSeconds }) };
}

describe("the terminal tool", () => {
  test("an exit code other than 0 is a value, not an error", async () => {
    const { cwd, tool } = await terminal();

    const result = await call(tool, { command: "echo out; echo err >&2; exit 3" });

    expect(result).toEqual({
      error: null,
      exitCode: 3,
      stdout: "out\n",
      stderr: "err\n",
      timedOut: false,
      cwd,
      durationMs: expect.any(Number),
    });
  });

  test("bytes that are not UTF-8, and NUL, do not break the result", async () => {
    const { tool } = await terminal();

    const result = await call(tool, { command: String.raw`printf 'a\377\0b'` });

    expect(result.stdout).toBe("a\uFFFD\uFFFDb");
  });

  test("of long output the tail is kept, from a line's start, with a count of what is missing", async () => {
    const { tool } = await terminal();

    const { stdout } = await call(tool, { command: "seq 1 20000" });

    const [note, first, ...rest] = String(stdout).trimEnd().split("\n");
    expect(note).toMatch(/^\[… \d+ characters left out …\]$/);
    expect(Number(rest.at(-1))).toBe(20_000);
    expect(Number(first)).toBe(20_000 - rest.length);
    expect(String(stdout).length).toBeLessThan(30_100);
  });

  test("a character beheaded by the environment's own cut is dropped, not shown broken", async () => {
    const { tool } = await terminal();

    const { stdout, isCut } = await call(tool, { command: "yes € | head -n 100000 | tr -d '\\n'" });

    expect(isCut).toBe(true);
    expect(String(stdout)).not.toContain("\uFFFD");
    expect(String(stdout).endsWith("€")).toBe(true);
  });

  test("a command that takes too long is ended, and what it wrote is kept", async () => {
    const { tool } = await terminal();

    const result = await call(tool, { command: "echo begun; sleep 60", timeoutSeconds: 0.2 });

    expect(result).toMatchObject({
      error: expect.stringMatching(/ended after 0\.2 s.*process tool/),
      exitCode: 124,
      timedOut: true,
      stdout: "begun\n",
    });
  });

  test("a time beyond the limit is cut to it, and the result says so", async () => {
    const { tool } = await terminal(0.2);

    const result = await call(tool, { command: "sleep 60", timeoutSeconds: 3_600 });

    expect(result).toMatchObject({ timedOut: true, note: expect.stringContaining("3600 s is more") });
    expect(tool.description).toContain("at most 0.2 s");
  });

  test("an aborted run ends the command and keeps what it wrote", async () => {
    const { tool } = await terminal();
    const stop = new AbortController();

    const result = await call(
      tool,
      { command: "echo begun; sleep 60" },
      { signal: stop.signal, touch: () => stop.abort() },
    );

    expect(result).toMatchObject({
      exitCode: 130,
      stdout: "begun\n",
      error: expect.stringContaining("run is ending"),
    });
  });

  test("L14: output resets the idle watch", async () => {
    const { tool } = await terminal();
    const activities: string[] = [];

    await call(tool, { command: "echo x" }, { touch: (activity) => activities.push(activity) });

    expect(activities).toEqual(["output of a command"]);
  });

  test.each(["sleep 100 &", "nohup ./server > log 2>&1 &", "./server & disown", "cd /srv && ./server &\n"])(
    "plain background use is not run, and the model is told of the process tool: %s",
    async (command) => {
      const { tool } = await terminal();

      expect(await call(tool, { command })).toEqual({
        error: expect.stringContaining("process tool (action start)"),
      });
    },
  );

  test.each([
    ["true && true", 0],
    ["echo a >&2", 0],
    ["echo 'rock & roll'", 0],
    ["echo rock \\&", 0],
    ["sleep 0 & wait", 0],
    ["nohup true", 0],
  ])("what only looks like background use is run: %s", async (command, exitCode) => {
    const { tool } = await terminal();

    expect(await call(tool, { command })).toMatchObject({ error: null, exitCode });
  });

  test("arguments that do not fit are refused by name", async () => {
    const { tool } = await terminal();

    expect(refusalOf(tool, { command: "", timeoutSeconds: -1 })).toBe(
      "The arguments of terminal do not fit: command is too small; write at least 1. timeoutSeconds is too small; write at least 1.",
    );
    expect(refusalOf(tool, { comand: "ls" })).toBe(
      'The arguments of terminal do not fit: command is missing; add it. unknown key "comand"; did you mean "command"?',
    );
    expect(refusalOf(tool, { command: "ls", timeoutSeconds: "60" })).toContain('write 60, not "60"');
    expect(refusalOf(tool, "ls")).toContain("must be a JSON object");
    expect(refusalOf(tool, { command: "ls", cwd: null })).toBeUndefined();
  });
});
