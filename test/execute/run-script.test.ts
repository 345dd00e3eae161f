// A script from its path to its Outcome, with real processes. Ending and cancelling: cancel.test.ts, leftovers.test.ts.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makePipePool } from "../../src/execute/pipe-pool.ts";
import { runScript } from "../../src/execute/run-script.ts";
import { makeRedact } from "../../src/kernel/redact.ts";
import { leftOf, makeContext, openRoom, type TestContext, workOf } from "./room.ts";

describe("a script's end", () => {
  test("exit 0: stdout is the output, byte for byte, and stderr is not part of it", async () => {
    const room = await openRoom();
    const script = await room.script("talk.sh", "printf '  two\\n\\nlines \\n'; echo noise >&2");

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({ state: "succeeded", output: "  two\n\nlines \n", isSilent: false });
  });

  test("exit 0 with blank stdout is silence, whatever stderr says", async () => {
    const room = await openRoom();
    const script = await room.script("quiet.sh", "printf ' \\n\\t\\n'; echo all is well >&2");

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({ state: "succeeded", output: " \n\t\n", isSilent: true });
  });

  test("exit ≠ 0 fails with the code, the last line of stderr, and the partial output", async () => {
    const room = await openRoom();
    const script = await room.script("fail.sh", "echo partial; echo first >&2; echo disk full >&2; exit 3");

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({
      state: "failed",
      output: "partial\n",
      error: { code: "exit", message: "exited 3: disk full", exitCode: 3, stderrTail: "first\ndisk full\n" },
    });
  });

  test.each([126, 127])("a command's own exit %d is its exit, not a spawn that failed", async (code) => {
    const room = await openRoom();
    const script = await room.script("exit.sh", `exit ${code}`);

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({
      state: "failed",
      error: { code: "exit", message: `exited ${code}`, exitCode: code },
    });
  });

  test("a script that dies of a signal fails with that signal", async () => {
    const room = await openRoom();
    const script = await room.script("crash.sh", "kill -SEGV $$");

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    expect(outcome).toEqual({
      state: "failed",
      error: { code: "signal", message: "ended by SIGSEGV", signal: "SIGSEGV" },
    });
  });
});

describe("what a script is given", () => {
  test("real pipes: /dev/stdout and /dev/stderr can be opened by name, as under cron", async () => {
    const room = await openRoom();
    const script = await room.script(
      "names.sh",
      "set -e; echo out > /dev/stdout; echo oops > /dev/stderr; echo both | tee /dev/stderr; [ -p /dev/stdout ]",
    );
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toEqual({ state: "succeeded", output: "out\nboth\n", isSilent: false });
    expect(stderrOf(context)).toBe("oops\nboth\n");
  });

  test("without a pool of pipes, or with one that cannot make any, sockets do", async () => {
    const broken = makePipePool("/etc/passwd/no-folder");
    const room = await openRoom({ pipes: broken });
    const script = await room.script("a.sh", "echo out; echo err >&2");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toMatchObject({ output: "out\n" });
    expect(stderrOf(context)).toBe("err\n");
    await broken.close();
  });

  test("S2, hermes#99635: the environment is the allow-list, the lineage and what the job names; nothing else", async () => {
    const room = await openRoom({
      nodeEnv: {
        PATH: process.env.PATH,
        HOME: "/home/ada",
        USER: "ada",
        LANG: "C.UTF-8",
        LC_ALL: "C.UTF-8",
        TMPDIR: "/tmp",
        TZ: "Asia/Tokyo",
        OPENAI_API_KEY: "sk-never",
        AWS_SECRET_ACCESS_KEY: "never",
        NIGHTSHIFT_RUN_ID: "of-somebody-else",
        NIGHTSHIFT_STORE: "postgres://secret",
        MAIL_TOKEN: "handed over",
      },
    });
    // A binary program and not a shell: a shell adds variables of its own.
    const script = await room.script(
      "env.txt",
      "#!/usr/bin/env -S env -u NOTHING_AT_ALL cat /proc/self/environ\n",
    );
    const context = makeContext();
    const work = workOf(script, { env: { GREETING: "grüß = Gott\n好", TOKEN: `\${MAIL_TOKEN}` } });

    const outcome = await runScript(room.deps, work, context);

    const dump = Object.fromEntries(
      (outcome.output ?? "")
        .split("\uFFFD")
        .filter((line) => line.includes("=") && !line.startsWith("#!"))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    expect(dump).toEqual({
      PATH: process.env.PATH,
      HOME: "/home/ada",
      USER: "ada",
      LANG: "C.UTF-8",
      LC_ALL: "C.UTF-8",
      TMPDIR: "/tmp",
      TZ: "Europe/Berlin",
      GREETING: "grüß = Gott\n好",
      TOKEN: "[redacted]",
      NIGHTSHIFT_JOB_ID: "disk-watch",
      NIGHTSHIFT_RUN_ID: context.run.id,
      NIGHTSHIFT_SLOT: "2026-11-29T08:00:00Z",
      NIGHTSHIFT_ATTEMPT: "1",
      NIGHTSHIFT_IDEMPOTENCY_KEY: context.run.idempotencyKey,
      NIGHTSHIFT_DEPTH: "0",
    });
  });

  test("S2: without a workdir it runs in a fresh private workspace, which is gone after a success", async () => {
    const room = await openRoom();
    const script = await room.script("where.sh", "touch made-here; stat -c %a .; pwd");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    const workspace = join(room.deps.workspacesFolder, context.run.id);
    expect(outcome.output).toBe(`700\n${workspace}\n`);
    expect(existsSync(workspace)).toBe(false);
  });

  test("a failed run keeps its workspace when something is in it, and loses an empty one", async () => {
    const room = await openRoom();
    const full = makeContext();
    const empty = makeContext();

    await runScript(room.deps, workOf(await room.script("full.sh", "echo why > clue; exit 1")), full);
    await runScript(room.deps, workOf(await room.script("empty.sh", "exit 1")), empty);

    expect(readdirSync(room.deps.workspacesFolder)).toEqual([full.run.id]);
    expect(await readFile(join(room.deps.workspacesFolder, full.run.id, "clue"), "utf8")).toBe("why\n");
  });

  test("a workdir is where it runs, and stays", async () => {
    const room = await openRoom();
    const script = await room.script("where.sh", "pwd");
    const workdir = room.deps.scriptsFolder;

    const outcome = await runScript(room.deps, workOf(script, { workdir }), makeContext());

    expect(outcome.output).toBe(`${workdir}\n`);
    expect(existsSync(workdir)).toBe(true);
  });

  test("arguments arrive verbatim: blanks, quotes, newlines, every Latin-1 letter, Chinese, leading dashes", async () => {
    const room = await openRoom();
    const script = await room.script(
      "args.js",
      "process.stdout.write(JSON.stringify(process.argv.slice(2)))",
    );
    const latin = Array.from({ length: 128 }, (_, index) => String.fromCharCode(128 + index)).join("");
    const args = [
      "",
      " a  b ",
      'it\'s "$HOME" `x` \\n',
      "line\nbreak\n",
      "夜班 值守 🌙",
      latin,
      "--",
      "-n",
      "*",
    ];

    const outcome = await runScript(room.deps, workOf(script, { args }), makeContext());

    expect(JSON.parse(outcome.output ?? "")).toEqual(args);
  });

  test("no descriptor of ours leaks into the command", async () => {
    const room = await openRoom();
    const script = await room.script("fds", "#!/bin/ls\n");
    // What this test process itself was started with goes to every child of Node's.
    const inherited = spawnSync("/bin/ls", ["/proc/self/fd"], { encoding: "utf8" }).stdout;

    const outcome = await runScript(room.deps, workOf(script, { args: ["/proc/self/fd"] }), makeContext());

    const [, ...listed] = (outcome.output ?? "").split("/proc/self/fd:\n");
    expect(listed.join("")).toBe(inherited);
  });
});

describe("what cannot be run is an outcome, not an exception", () => {
  test.each([
    ["../evil.sh", "holds .."],
    ["/etc/passwd", "is absolute"],
    ["absent.sh", "does not exist"],
  ])("%s: preflight says why", async (script, why) => {
    const room = await openRoom();
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toMatchObject({ state: "failed", error: { code: "preflight" } });
    expect(outcome.state === "failed" && outcome.error.message).toContain(why);
    expect(context.begun).toEqual([]);
  });

  test("a workdir that is not there is named, and nothing begins", async () => {
    const room = await openRoom();
    const script = await room.script("a.sh", "true");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script, { workdir: "/no/such/folder" }), context);

    expect(outcome).toMatchObject({ state: "failed", error: { code: "preflight" } });
    expect(outcome.state === "failed" && outcome.error.message).toContain("/no/such/folder");
    expect(context.begun).toEqual([]);
  });

  test("arguments too large for the machine fail as spawn, and nothing begins", async () => {
    const room = await openRoom();
    const script = await room.script("a.sh", "true");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script, { args: ["x".repeat(4_000_000)] }), context);

    expect(outcome).toMatchObject({ state: "failed", error: { code: "spawn" } });
    expect(context.begun).toEqual([]);
  });
});

describe("the run's record", () => {
  test("L10, D5: begin sees the waiting process and the script's digest before the command does anything", async () => {
    const room = await openRoom();
    const proof = join(room.deps.scriptsFolder, "proof");
    const text = `#!/bin/sh\necho $$ > ${proof}`;
    const script = await room.script("late.sh", text);
    let ranBeforeCommit: boolean | undefined;
    const context = makeContext(() => {
      ranBeforeCommit = existsSync(proof);
      return true;
    });

    await runScript(room.deps, workOf(script, { args: ["a b"] }), context);

    expect(ranBeforeCommit).toBe(false);
    expect(context.sha256).toBe(createHash("sha256").update(text).digest("hex"));
    expect(context.begun).toHaveLength(1);
    const record = context.begun[0]!;
    expect(record).toMatchObject({ runId: context.run.id, hostId: "host", processGroup: record.pid });
    expect(record.command).toContain("late.sh a b");
    // The shim became the command: same pid.
    expect((await readFile(proof, "utf8")).trim()).toBe(String(record.pid));
  });

  test("secrets are redacted at the exit: output, error, log lines and the recorded command", async () => {
    const room = await openRoom({ redact: makeRedact(["hunter22"]) });
    const script = await room.script("leak.sh", "echo pw=hunter22 own=$API_KEY; echo hunter22 >&2; exit 1");
    const context = makeContext();

    const outcome = await runScript(
      room.deps,
      workOf(script, { args: ["hunter22"], env: { API_KEY: "private-1" } }),
      context,
    );

    expect(JSON.stringify([outcome, context.events, context.begun])).not.toMatch(/hunter22|private-1/);
    expect(outcome.output).toBe("pw=[redacted] own=[redacted]\n");
  });

  test("L14: each piece of output is activity and a line of the live log", async () => {
    const room = await openRoom();
    const script = await room.script("lines.sh", "echo one; echo two >&2");
    const context = makeContext();

    await runScript(room.deps, workOf(script), context);

    expect(context.touched).toEqual(expect.arrayContaining(["stdout", "stderr"]));
    expect(context.events).toEqual(
      expect.arrayContaining([
        { kind: "stdout", data: { text: "one\n" } },
        { kind: "stderr", data: { text: "two\n" } },
      ]),
    );
  });

  test("50 scripts side by side all succeed and leave nothing", async () => {
    const room = await openRoom();
    const script = await room.script("one.sh", "(sleep 30 &) ; echo $1");
    const contexts = Array.from({ length: 50 }, () => makeContext());

    const outcomes = await Promise.all(
      contexts.map((context, index) =>
        runScript(room.deps, workOf(script, { args: [String(index)] }), context),
      ),
    );

    expect(outcomes.map((outcome) => outcome.output)).toEqual(contexts.map((_, index) => `${index}\n`));
    expect(contexts.flatMap(leftOf)).toEqual([]);
    expect(readdirSync(room.deps.workspacesFolder)).toEqual([]);
  });

  test("a script edited while it waits is run as it is then, never half", async () => {
    const room = await openRoom();
    const script = await room.script("edit.sh", "echo old");
    const context = makeContext(async () => {
      await writeFile(join(room.deps.scriptsFolder, script), "echo new");
      return true;
    });

    expect(await runScript(room.deps, workOf(script), context)).toMatchObject({ output: "new\n" });
  });
});

function stderrOf(context: TestContext): string {
  return context.events
    .filter((event) => event.kind === "stderr")
    .map((event) => event.data.text)
    .join("");
}
