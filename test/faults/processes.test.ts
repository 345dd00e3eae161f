// Background processes through crashes (DESIGN §8, L10): adopted by pid and start time, ended with their owner, never lost silently.

import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ProcessDocument } from "../../src/app/background/home-processes.ts";
import { type FaultHome, faultHome, query, untilTrue } from "./fault-home.ts";
import { startNode } from "./node-process.ts";

/** Pids that carry the process's mark. */
function markedBy(id: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const isOurs = readFileSync(`/proc/${name}/environ`, "latin1").includes(`NIGHTSHIFT_RUN_ID=${id}\0`);
      return isOurs ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

async function json<T>(home: FaultHome, ...args: string[]): Promise<T> {
  const answer = await home.cli("process", ...args);
  if (answer.stdout === "") throw new Error(answer.stderr);
  return JSON.parse(answer.stdout) as T;
}

async function start(home: FaultHome, command: string, ...options: string[]): Promise<ProcessDocument> {
  const started = await json<ProcessDocument>(home, "start", command, "--cwd", home.path, ...options);
  onTestFinished(() => {
    for (const pid of markedBy(started.id)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has just ended.
      }
    }
  });
  return started;
}

const rowOf = async (home: FaultHome, id: string) =>
  (await query(home, `SELECT * FROM "backgroundProcesses" WHERE "id" = '${id}'`))[0] ?? {};

const bodies = async (home: FaultHome) =>
  (await query(home, `SELECT "body" FROM "deliveries" ORDER BY "sequence"`)).map(({ body }) => String(body));

test("L10: after kill -9 of the node and a restart a process is adopted: its log goes on, its exit is told once", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  const first = await startNode({ home: home.path });
  const started = await start(home, "echo before; read word; echo after $word; exit 5", "--notify", "local");
  await untilTrue(
    "it prints",
    async () => (await readFile(started.logFile ?? "", "utf8").catch(() => "")) !== "",
  );
  first.signal("SIGKILL");
  await first.exited;
  await home.cli("process", "write", started.id, "夜");
  await untilTrue("it goes on without a node", async () =>
    (await readFile(started.logFile ?? "", "utf8")).includes("after 夜"),
  );

  const second = await startNode({ home: home.path });
  await untilTrue("its end is told", async () => (await bodies(home)).length > 0);
  second.signal("SIGKILL");
  await second.exited;
  const third = await startNode({ home: home.path });
  await untilTrue("it is delivered", async () => {
    const rows = await query(home, `SELECT "state" FROM "deliveries"`);
    return rows.every(({ state }) => state === "delivered");
  });
  third.signal("SIGTERM");
  await third.exited;

  expect(await rowOf(home, started.id)).toMatchObject({ state: "exited", exitCode: 5 });
  const told = await bodies(home);
  expect(told).toHaveLength(1);
  expect(told[0]).toContain("ended with exit code 5");
  expect(told[0]).toContain("after 夜");
  const log = await json<{ output: string }>(home, "log", started.id);
  expect(log.output).toBe("before\nafter 夜\n");
  await untilTrue("nobody is left", () => markedBy(started.id).length === 0);
});

test("hermes#89614: a row whose pid belongs to another process now is declared lost, and that process is not touched", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  const [gone, bystander] = [await start(home, "sleep 300"), await start(home, "sleep 300")];
  await untilTrue("both run", () => markedBy(bystander.id).length > 2 && markedBy(gone.id).length > 2);
  // One of them may take the others along.
  for (const pid of markedBy(gone.id)) if (markedBy(gone.id).includes(pid)) process.kill(pid, "SIGKILL");
  await untilTrue("it is gone", () => markedBy(gone.id).length === 0);
  await query(
    home,
    `UPDATE "backgroundProcesses" SET "pid" = ${bystander.pid}, "processGroup" = ${bystander.pid} WHERE "id" = '${gone.id}'`,
  );
  const node = await startNode({ home: home.path });
  await untilTrue("it is lost", async () => (await rowOf(home, gone.id)).state === "lost");
  await home.cli("process", "kill", gone.id);
  expect(await rowOf(home, bystander.id)).toMatchObject({ state: "running" });
  expect(markedBy(bystander.id).length).toBeGreaterThan(2);
  const ended = await json<{ survivors: number }>(home, "kill", bystander.id);
  expect(ended).toMatchObject({ survivors: 0, wasRunning: true, process: { state: "killed" } });
  expect(markedBy(bystander.id)).toEqual([]);
  node.signal("SIGTERM");
  await node.exited;
  expect(await bodies(home)).toEqual([]);
});

test("an owner that ended takes what it started with it, but not what persists or was handed off", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  const owned = [];
  for (let n = 0; n < 3; n++) owned.push(await start(home, "sleep 300"));
  const [ends, persists, handedOff] = owned.map(({ id }) => id);
  // As a run's, that is no more: what a node finds after a crash.
  await query(home, `UPDATE "backgroundProcesses" SET "ownerRunId" = 'run-that-ended', "session" = 'run'`);
  await query(home, `UPDATE "backgroundProcesses" SET "persist" = 1 WHERE "id" = '${persists}'`);
  await home.cli("process", "handoff", handedOff ?? "");
  const node = await startNode({ home: home.path });
  await untilTrue("it has ended", async () => (await rowOf(home, ends ?? "")).state === "killed");
  node.signal("SIGTERM");
  await node.exited;
  expect(markedBy(ends ?? "")).toEqual([]);
  expect(markedBy(persists ?? "").length).toBeGreaterThan(2);
  expect(await rowOf(home, handedOff ?? "")).toMatchObject({
    state: "running",
    ownerRunId: null,
    session: "cli",
  });
});

test("doctor names what an ended process left running, and what runs without a row", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  const left = await start(home, "setsid sh -c 'while :; do sleep 300; done' & exit 0");
  await home.cli("process", "wait", left.id);
  const unknown = await start(home, "sleep 300");
  await untilTrue("it runs", () => markedBy(unknown.id).length > 2);
  await query(home, `DELETE FROM "backgroundProcesses" WHERE "id" = '${unknown.id}'`);
  const { findings } = JSON.parse((await home.cli("doctor")).stdout) as {
    findings: { code: string; what: string }[];
  };
  const found = (code: string) => findings.find((one) => one.code === code)?.what;
  expect(found("processLeftover")).toContain(left.id);
  expect(found("processUnknown")).toContain(unknown.id);
  expect(await json(home, "kill", left.id)).toMatchObject({ survivors: 0, wasRunning: false });
  expect(markedBy(left.id)).toEqual([]);
});

test("hermes#10156: poll leaves the message to be sent, wait consumes it; watched lines come as they are printed", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome();
  const node = await startNode({ home: home.path });
  const polled = await start(home, "echo polled", "--notify", "local");
  const waited = await start(home, "sleep 0.2; echo waited", "--notify", "local");
  const watched = await start(
    home,
    "echo ready on 4000; echo nothing; read x",
    ...["--notify", "local", "--watch", "ready"],
  );
  await json(home, "poll", polled.id);
  expect(await json(home, "wait", waited.id)).toMatchObject({ status: "exited", process: { exitCode: 0 } });
  await untilTrue("two are told", async () => (await bodies(home)).length >= 2);
  await home.cli("process", "kill", watched.id);
  await untilTrue("it is recorded", async () => (await rowOf(home, watched.id)).state === "killed");
  node.signal("SIGTERM");
  await node.exited;
  const told = await bodies(home);
  expect(told).toHaveLength(2);
  expect(told.find((body) => body.includes(watched.id))).toMatch(/ printed:\nready on 4000$/);
  expect(told.some((body) => body.includes(`${polled.id} (echo polled) ended with exit code 0`))).toBe(true);
  expect(await rowOf(home, waited.id)).toMatchObject({ noticedAt: null, consumedAt: expect.anything() });
  expect(join(home.path, "run", "processes")).toBe(join(waited.logFile ?? "", "..", ".."));
});
