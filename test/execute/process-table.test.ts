// Who a process is, on which machine, and what it has used.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  groupCpuMs,
  groupMembers,
  isSameProcess,
  processStartTime,
  readHost,
} from "../../src/execute/host.ts";
import { findLeft, makeMarkIndex } from "../../src/execute/mark-index.ts";
import { parseStat, readProcess } from "../../src/execute/process-table.ts";
import { spawnHeld } from "../../src/execute/spawn-held.ts";
import { tempFolder } from "../support/temp.ts";
import { newId, until } from "./room.ts";

describe("the host", () => {
  test("L4: the same on every look, and made of machine, boot and pid namespace", () => {
    const host = readHost();
    expect(readHost()).toEqual(host);
    expect(host.hostId).toMatch(/^[0-9a-f]{32}$/);
    expect(host.bootId).not.toBe("");
    if (process.platform === "linux") expect(host.pidNamespace).toMatch(/^pid:\[\d+\]$/);
  });
});

describe("a process", () => {
  test("a name with blanks and parentheses does not shift the fields", async () => {
    const folder = await tempFolder();
    const program = join(folder, "a) S 1 (b c");
    await copyFile("/bin/sleep", program);
    const child = spawn(program, ["60"], { detached: true, stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    await until(() => readProcess(child.pid!)?.processGroup === child.pid, "it leads its group");

    expect(readProcess(child.pid!)).toMatchObject({ pid: child.pid, parent: process.pid, isZombie: false });
    expect(processStartTime(child.pid!)).toMatch(/^\d+$/);
    child.kill("SIGKILL");
    await once(child, "exit");
  });

  test("half a line of the table is no process", () => {
    expect(parseStat("12 (sh) S 1 12 12")).toBeUndefined();
    expect(parseStat("")).toBeUndefined();
  });

  test("hermes#89614: the same pid with another start time is somebody else", () => {
    const { startTime, processGroup } = readProcess(process.pid)!;
    const self = { pid: process.pid, startTime, processGroup };
    expect(isSameProcess(self)).toBe(true);
    expect(isSameProcess({ ...self, startTime: `${startTime}0` })).toBe(false);
    expect(processStartTime(2 ** 22 + 1)).toBeUndefined();
  });

  test("L14: the CPU time of a group counts its members and the children they waited for", async () => {
    const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    const held = await spawnHeld({
      command: "/bin/sh",
      args: ["-c", `(${busy}); echo done; sleep 60 & wait`],
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
    });
    if (held.kind !== "held") throw new Error(held.message);
    const { processGroup } = held.identity;
    onTestFinished(() => held.abandon());
    expect(groupCpuMs(processGroup)).toBeLessThan(50);

    held.release();
    await once(held.stdout, "data");

    expect(groupCpuMs(processGroup)).toBeGreaterThanOrEqual(50);
    await until(() => groupMembers(processGroup).length === 2, "the shell and its sleep");
    await held.abandon();
    expect(groupCpuMs(processGroup)).toBe(0);
  });
});

describe.runIf(process.platform === "linux")("the index of marks", () => {
  test("L10: a program that is just starting shows no mark yet; it is waited for, and only while there is one", async () => {
    const looks = [[], [], [7]];
    const clock = { sleep: async () => {} };
    const find = () => looks.shift() ?? [];
    expect(await findLeft({ find, hasStarting: true }, clock, "run")).toEqual([7]);

    looks.push([], [7]);
    expect(await findLeft({ find, hasStarting: false }, clock, "run")).toEqual([]);
    expect(await findLeft({ find: () => [], hasStarting: true }, clock, "run")).toEqual([]);
  });

  test("finds a marked process that came after the last look, and none that is looked after or has gone", async () => {
    const index = makeMarkIndex({ monotonicMs: () => 0 });
    const runId = newId();
    expect(index.find(runId)).toEqual([]);

    const child = spawn("sleep", ["60"], {
      stdio: "ignore",
      env: { PATH: process.env.PATH, NIGHTSHIFT_RUN_ID: runId },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await until(() => index.find(runId).length > 0, "the child is listed");
    expect(index.find(runId)).toEqual([child.pid]);
    expect(index.find(newId())).toEqual([]);

    const endSkip = index.skip(child.pid!);
    expect(index.find(runId)).toEqual([]);
    endSkip();
    expect(index.find(runId)).toEqual([child.pid]);

    child.kill("SIGKILL");
    await once(child, "exit");
    expect(index.find(runId)).toEqual([]);
  });
});
