// An abort at every wait of a script's run: before the spawn, before and during the commit, while it runs, while its
// output drains. After each: the right outcome, and no process.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { processesMarked } from "../../src/execute/host.ts";
import { runScript } from "../../src/execute/run-script.ts";
import type { AbortReason } from "../../src/records/run-context.ts";
import { leftOf, makeContext, openRoom, printed, type TestContext, until, workOf } from "./room.ts";

const CANCEL: AbortReason = { kind: "cancel", by: "ada" };

describe("an abort", () => {
  test("before anything: nothing is spawned, nothing is committed", async () => {
    const room = await openRoom();
    const script = await room.script("a.sh", "echo never");
    const context = makeContext();
    context.abort(CANCEL);

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toEqual({ state: "cancelled", by: "ada" });
    expect(context.begun).toEqual([]);
  });

  test("while the script is being checked: it is never spawned, and the workspace is gone", async () => {
    const room = await openRoom();
    const script = await room.script("a.sh", "echo never");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    context.abort(CANCEL);

    expect(await running).toEqual({ state: "cancelled", by: "ada" });
    expect(context.begun).toEqual([]);
    expect(existsSync(join(room.deps.workspacesFolder, context.run.id))).toBe(false);
  });

  test("during the commit: the shim goes, the command never was", async () => {
    const room = await openRoom();
    const proof = join(room.deps.scriptsFolder, "proof");
    const script = await room.script("a.sh", `touch ${proof}`);
    const context = makeContext(() => {
      context.abort(CANCEL);
      return true;
    });

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toEqual({ state: "cancelled", by: "ada" });
    expect(existsSync(proof)).toBe(false);
    expect(leftOf(context)).toEqual([]);
  });

  test.each([
    ["a cancel came first", CANCEL, { state: "cancelled", by: "ada" }],
    ["the claim was lost", { kind: "claimLost" } as const, { state: "unknown", why: "claim lost" }],
    ["nobody says why", undefined, { state: "cancelled", by: "beforeStart" }],
  ])("begin answers false because %s: the command never was", async (_, reason, expected) => {
    const room = await openRoom();
    const proof = join(room.deps.scriptsFolder, "proof");
    const script = await room.script("a.sh", `touch ${proof}`);
    const context = makeContext(() => {
      if (reason) context.abort(reason);
      return false;
    });

    expect(await runScript(room.deps, workOf(script), context)).toEqual(expected);
    expect(existsSync(proof)).toBe(false);
    expect(leftOf(context)).toEqual([]);
  });

  test("begin throws (the store is down): the error goes on, the shim goes, the command never was", async () => {
    const room = await openRoom();
    const proof = join(room.deps.scriptsFolder, "proof");
    const script = await room.script("a.sh", `touch ${proof}`);
    const context = makeContext(() => Promise.reject(new Error("store is down")));

    await expect(runScript(room.deps, workOf(script), context)).rejects.toThrow("store is down");

    expect(existsSync(proof)).toBe(false);
    expect(leftOf(context)).toEqual([]);
  });

  test("while it runs: TERM reaches the whole group, the partial output stays, the log counts no survivor", async () => {
    const room = await openRoom();
    const script = await room.script("long.sh", "sleep 60 & sleep 61 & echo partial; wait; wait; echo never");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("partial"));
    context.abort(CANCEL);

    expect(await running).toEqual({ state: "cancelled", output: "partial\n", by: "ada" });
    expect(leftOf(context)).toEqual([]);
    const proof = context.events.find((event) => event.kind === "process-ended");
    expect(proof?.data).toMatchObject({ why: "aborted", survivors: [] });
    expect(proof?.data.ended).toHaveLength(3);
  });

  test("what a script still says after TERM is kept: it may clean up within the grace", async () => {
    const room = await openRoom();
    const script = await room.script(
      "polite.sh",
      "trap '/bin/sleep 0.3; /bin/echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    );
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("ready"));
    context.abort({ kind: "nodeStopped" });

    expect(await running).toEqual({ state: "cancelled", output: "ready\ncleaned\n", by: "nodeStopped" });
  });

  test("a script that ignores TERM is killed after the grace, not before", async () => {
    const room = await openRoom({ graceMs: 400 });
    const script = await room.script("deaf.sh", "trap '' TERM; echo ready; while :; do sleep 0.05; done");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("ready"));
    const abortedAt = performance.now();
    context.abort(CANCEL);

    expect(await running).toMatchObject({ state: "cancelled", by: "ada" });
    expect(performance.now() - abortedAt).toBeGreaterThanOrEqual(400);
    expect(leftOf(context)).toEqual([]);
  });

  test("a stopped script (SIGSTOP) is ended too", async () => {
    const room = await openRoom();
    const script = await room.script("stopped.sh", "echo ready; kill -STOP $$; echo never");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("ready"));
    context.abort(CANCEL);

    expect(await running).toEqual({ state: "cancelled", output: "ready\n", by: "ada" });
    expect(leftOf(context)).toEqual([]);
  });

  test("while its output drains: the exit stands, the wait is over at once, the holder is ended", async () => {
    const room = await openRoom({ drainMs: 60_000 });
    const script = await room.script("holder.sh", "sleep 60 & echo done");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("done"));
    await until(() => leftOf(context).length === 1, "the shell has exited, its child holds the pipe");
    context.abort(CANCEL);

    expect(await running).toEqual({ state: "succeeded", output: "done\n", isSilent: false });
    expect(leftOf(context)).toEqual([]);
  });
});

describe("an abort at any turn of the event loop", () => {
  test("leaves no process, no workspace, and an outcome that is either the cancel or the script's own", async () => {
    const room = await openRoom({ graceMs: 500 });
    const script = await room.script("short.sh", "echo out; (sleep 30 & sleep 0.01); exit 0");
    const contexts: TestContext[] = [];

    for (let turns = 0; turns < 90; turns += 3) {
      const context = makeContext(async () => {
        await new Promise(setImmediate);
        return true;
      });
      contexts.push(context);
      const running = runScript({ ...room.deps, drainMs: 20 }, workOf(script), context);
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      context.abort(CANCEL);
      const outcome = await running;
      expect([
        { state: "cancelled", by: "ada" },
        { state: "cancelled", by: "ada", output: "out\n" },
        { state: "succeeded", output: "out\n", isSilent: false },
      ]).toContainEqual(outcome);
      expect(processesMarked(context.run.id)).toEqual([]);
    }

    expect(contexts.flatMap(leftOf)).toEqual([]);
    expect(readdirSync(room.deps.workspacesFolder)).toEqual([]);
  });
});

describe("why it was aborted decides the outcome", () => {
  const last = { lastActivity: "stdout", lastActivityAt: 1_795_939_200_000 };
  test.each<[AbortReason, object]>([
    [
      { kind: "idleTimeout", limitMs: 60_000, ...last },
      { state: "timedOut", limit: "idle", limitMs: 60_000, ...last },
    ],
    [
      { kind: "totalTimeout", limitMs: 90_000, ...last },
      { state: "timedOut", limit: "total", limitMs: 90_000, ...last },
    ],
    [{ kind: "claimLost" }, { state: "unknown", why: "claim lost" }],
    [{ kind: "nodeStopped" }, { state: "cancelled", by: "nodeStopped" }],
  ])("$kind", async (reason, expected) => {
    const room = await openRoom();
    const script = await room.script("long.sh", "echo partial; sleep 60");
    const context = makeContext();

    const running = runScript(room.deps, workOf(script), context);
    await context.next(printed("partial"));
    context.abort(reason);

    expect(await running).toEqual({ ...expected, output: "partial\n" });
    expect(leftOf(context)).toEqual([]);
  });
});
