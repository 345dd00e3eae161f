// Supervised processes (L10, DESIGN §8): the real shim, read by nothing but its folder.

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import {
  spooledBytes,
  spooledExit,
  spoolFrom,
  spoolTail,
  textOfBytes,
} from "../../../src/execute/background/spool.ts";
import {
  closeSupervisedStdin,
  endSupervised,
  startSupervised,
  writeSupervised,
} from "../../../src/execute/background/supervised.ts";
import { isSameProcess, listProcesses, processesMarked } from "../../../src/execute/process-table.ts";
import { tempFolder } from "../../support/temp.ts";
import { newId, realClock } from "../room.ts";

const deps = { clock: realClock };

async function start(command: string, parts: { maxFileBytes?: number; isHeld?: boolean } = {}) {
  const root = await tempFolder();
  const id = `proc_${newId().slice(-12)}`;
  const folder = join(root, id);
  const held = await startSupervised({
    ...{ command, shell: "/bin/bash", cwd: root, folder, prefix: [] },
    env: { PATH: process.env.PATH ?? "", NIGHTSHIFT_RUN_ID: id },
    ...(parts.maxFileBytes !== undefined && { maxFileBytes: parts.maxFileBytes }),
  });
  const { identity } = held;
  const end = (graceMs = 300) => endSupervised(deps, { id, identity, graceMs });
  onTestFinished(async () => void (await end(0)));
  if (!parts.isHeld) await held.release();
  return { id, folder, identity, end, held };
}

async function until<T>(what: string, look: () => Promise<T | undefined>, ms = 15_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(10);
  }
}

const outputOf = async (folder: string) => textOfBytes((await spoolTail(folder, 400_000)).bytes);
const printed = (folder: string, text: string) =>
  until(`it prints ${text}`, async () => (await outputOf(folder)).includes(text) || undefined);
const exitOf = (folder: string) => until("it has ended", () => spooledExit(folder));

test("L10: nothing of a held process has run; abandoned, it never does and leaves nobody", async () => {
  const { folder, held, identity } = await start("touch began", { isHeld: true });
  expect(isSameProcess(identity)).toBe(true);
  await held.abandon();
  expect(isSameProcess(identity)).toBe(false);
  expect([await readdir(folder), (await readdir(join(folder, ".."))).length]).toEqual([[], 1]);
});

test("output of both streams in order, stdin by a fifo, and the command's own exit code, in private files", async () => {
  const { folder, id } = await start('echo 一; echo err >&2; read a; read b || echo "eof after $a"; exit 7');
  await printed(folder, "err\n");
  await writeSupervised(deps, folder, "夜\n");
  await closeSupervisedStdin(folder, id);
  expect(await exitOf(folder)).toEqual({ exitCode: 7, endedAt: expect.any(Number) });
  await printed(folder, "eof after 夜\n");
  expect(await outputOf(folder)).toBe("一\nerr\neof after 夜\n");
  expect(await spooledBytes(folder)).toBe(Buffer.byteLength("一\nerr\neof after 夜\n"));
  const modes = await Promise.all(
    [folder, join(folder, "output.0")].map(async (path) => (await stat(path)).mode & 0o777),
  );
  expect(modes).toEqual([0o700, 0o600]);
  await until("nobody is left", async () => processesMarked(id).length === 0 || undefined);
  await expect(writeSupervised(deps, folder, "late")).rejects.toMatchObject({ code: "input.conflict" });
});

test("the command starts with usual signals: TERM ends it, and its code is known", async () => {
  const { folder, end, id } = await start("echo on; sleep 300");
  await printed(folder, "on\n");
  expect(await end(5_000)).toEqual({ survivors: 0 });
  expect(await exitOf(folder)).toMatchObject({ exitCode: 143 });
  expect(processesMarked(id)).toEqual([]);
});

test("hermes#60485: its exit is known while a child that it left behind holds the pipe; ending it ends the child too", async () => {
  const { folder, end, id } = await start("setsid sh -c 'while :; do sleep 300; done' & echo begun; exit 4");
  expect(await exitOf(folder)).toMatchObject({ exitCode: 4 });
  expect(processesMarked(id).length).toBeGreaterThan(0);
  expect(await end(200)).toEqual({ survivors: 0 });
  expect(processesMarked(id)).toEqual([]);
});

test("beyond the cap the beginning and the end are kept, and a byte's place in the whole stays known", async () => {
  const lines = 600_000;
  const { folder } = await start(`seq -f 'line %09.0f' ${lines}`, { maxFileBytes: 1_000_000 });
  await exitOf(folder);
  await until("all is written", async () => (await spooledBytes(folder)) === lines * 15 || undefined);
  expect((await readFile(join(folder, "output.0"), "utf8")).startsWith("line 000000001\n")).toBe(true);
  const tail = await spoolTail(folder, 30);
  expect([textOfBytes(tail.bytes), tail.isWhole]).toEqual(["line 000599999\nline 000600000\n", false]);
  const from = await spoolFrom(folder, lines * 15 - 15, 1_000);
  expect([textOfBytes(from.bytes), from.to]).toEqual(["line 000600000\n", lines * 15]);
  const sizes = await Promise.all(
    (await readdir(folder))
      .filter((name) => name.startsWith("output."))
      .map(async (name) => (await stat(join(folder, name))).size),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20_000_000);
});

test("`yes` without end is slowed: no memory grows, here or there, nor the disk", async () => {
  const { folder, id } = await start("exec yes", { maxFileBytes: 2_000_000 });
  await until("it has printed much", async () => (await spooledBytes(folder)) > 30_000_000 || undefined);
  const rssOf = (pid: number) =>
    readFile(`/proc/${pid}/status`, "utf8").then(
      (text) => Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0),
      () => 0,
    );
  const before = process.memoryUsage().rss;
  await until("it has printed more", async () => (await spooledBytes(folder)) > 80_000_000 || undefined);
  expect(process.memoryUsage().rss - before).toBeLessThan(20_000_000);
  const kB = await Promise.all(processesMarked(id).map(({ pid }) => rssOf(pid)));
  expect(kB.length).toBeGreaterThan(2);
  expect(Math.max(...kB)).toBeLessThan(10_000);
  const sizes = await Promise.all(
    (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        (one) => one.size,
        () => 0,
      ),
    ),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20_000_000);
});

test("hermes#89614: a pid that belongs to somebody else by now is not touched", async () => {
  const stranger = await start("sleep 300");
  await until("it sleeps", async () => processesMarked(stranger.id).length > 2 || undefined);
  const before = listProcesses().find(({ pid }) => pid === stranger.identity.pid);
  const stale = { ...stranger.identity, startTime: "1" };
  expect(await endSupervised(deps, { id: "proc_other", identity: stale, graceMs: 0 })).toEqual({
    survivors: 0,
  });
  expect(isSameProcess(stranger.identity)).toBe(true);
  expect(before).toBeDefined();
});
