// What a task of a workflow asks of a script beyond what a job does, with real processes.

import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ScriptEnd } from "../../src/execute/prepare-script.ts";
import { runScript } from "../../src/execute/run-script.ts";
import { makeContext, openRoom, workOf } from "./room.ts";

describe("a script whose end somebody wants to know", () => {
  const ends: ScriptEnd[] = [];
  const onEnd = (end: ScriptEnd) => void ends.push(end);

  test("it writes its result to $NIGHTSHIFT_OUTPUT, also beside a workdir; nothing of it stays", async () => {
    const room = await openRoom();
    const script = await room.script(
      "result.sh",
      "echo said; echo why >&2; echo '{\"a\":1}' > $NIGHTSHIFT_OUTPUT",
    );

    await runScript(room.deps, workOf(script, { onEnd }), makeContext());
    await runScript(room.deps, workOf(script, { onEnd, workdir: room.deps.scriptsFolder }), makeContext());

    const end = { exitCode: 0, stdout: "said\n", stderr: "why\n", isTruncated: false, file: '{"a":1}\n' };
    expect(ends.splice(0)).toEqual([end, end]);
    expect(readdirSync(room.deps.workspacesFolder)).toEqual([]);
  });

  test("without such a file there is none; a failed script's end is told too", async () => {
    const room = await openRoom();
    const script = await room.script("fails.sh", "echo no >&2; exit 4");

    await runScript(room.deps, workOf(script, { onEnd }), makeContext());

    expect(ends.splice(0)).toEqual([
      { exitCode: 4, stdout: "", stderr: "no\n", isTruncated: false, file: undefined },
    ]);
  });
});

describe("a shell command in place of a file", () => {
  test("it runs as a script does, with its arguments", async () => {
    const room = await openRoom();
    const work = workOf("say", { command: 'printf "[%s]" "$0" "$@"', args: ["a b", "$HOME"] });

    expect(await runScript(room.deps, work, makeContext())).toMatchObject({ output: "[say][a b][$HOME]" });
  });

  test("literal variables are never references: a value cannot ask for the node's secrets", async () => {
    const room = await openRoom({ nodeEnv: { PATH: process.env.PATH, API_KEY: "s3cret" } });
    const env = { NIGHTSHIFT_VALUE_1: "${API_KEY}", PARAM_X: "${API_KEY}" };
    const work = workOf("say", {
      command: 'printf "%s|%s" "$NIGHTSHIFT_VALUE_1" "$PARAM_X"',
      literalEnv: env,
    });

    expect(await runScript(room.deps, work, makeContext())).toMatchObject({
      output: "${API_KEY}|${API_KEY}",
    });
    expect(await runScript(room.deps, { ...work, literalEnv: { "a b": "x" } }, makeContext())).toMatchObject({
      error: { code: "preflight" },
    });
  });
});
