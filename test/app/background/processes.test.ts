// Background processes of runs and sessions (DESIGN §8, S1, S2): whose they are, where they start, and who ends them.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { environmentProcesses } from "../../../src/app/background/environment-processes.ts";
import { forgetProcesses } from "../../../src/app/background/forget.ts";
import { homeProcesses } from "../../../src/app/background/home-processes.ts";
import { BackgroundTending } from "../../../src/app/background/tend.ts";
import type { Context } from "../../../src/app/context.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { whyNoWalls } from "../../../src/execute/environments/bubblewrap.ts";
import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { processesMarked } from "../../../src/execute/process-table.ts";
import { endRun } from "../../../src/execute/terminate.ts";
import type { BackgroundRecord } from "../../../src/records/background.ts";
import type { EnvironmentSpec } from "../../../src/records/environment-spec.ts";
import { newId, realClock } from "../../execute/room.ts";
import { testContext, writeScript } from "../../support/home.ts";

const never = new AbortController().signal;
const WAIT = { timeoutMs: 20_000, signal: never };

/** The processes of one run over a real local environment in a workspace inside the home. */
async function owned(
  context: Context,
  runId: string,
  parts: { parentRunId?: string; session?: string; spec?: EnvironmentSpec } = {},
) {
  const workspace = join(context.home.paths.workspacesFolder, runId);
  const tempFolder = join(context.home.paths.runFolder, "agents", runId);
  for (const folder of [workspace, tempFolder]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const hide = { folders: [context.home.paths.root], except: [workspace] };
  const environment = await openEnvironment(
    {
      ...{ clock: realClock, log: context.log, newId, workdir: workspace, tempFolder, graceMs: 200 },
      env: { PATH: process.env.PATH ?? "", NIGHTSHIFT_RUN_ID: runId, LANG: "C.UTF-8" },
      ...{ jobEnvNames: [], nodeEnv: process.env },
    },
    { backend: "local" },
    { hide },
  );
  const processes = environmentProcesses({
    ...{ context, environment, hide, redact: context.redact, spec: parts.spec ?? { backend: "local" } },
    owner: parts.session ? { runId: undefined, session: parts.session } : { runId, session: "run" },
    parentRunId: parts.parentRunId,
    ...{ jobEnv: { GREETING: "hello" }, timezone: "UTC", jobId: "job", depth: 1, mayTellTargets: false },
  });
  const close = async () => {
    const ended = await processes.dispose();
    await environment.dispose();
    return ended;
  };
  onTestFinished(async () => {
    await close();
    for (const { id } of await context.ledger.backgrounds({}).catch(() => []))
      await endRun({ clock: realClock }, { runId: id, known: [], graceMs: 0 });
  });
  return { environment, processes, workspace, close };
}

async function rowOf(context: Context, id: string): Promise<BackgroundRecord> {
  const found = await context.ledger.background(id);
  if (!found || "ambiguous" in found) throw new Error(`no process ${id}`);
  return found;
}

test("S2: it starts where the run's shell stands, with what that has exported and the job names, and its own mark", async () => {
  const context = await testContext({ env: { ...process.env, OPENAI_API_KEY: "sk-provider" } });
  const { environment, processes, workspace } = await owned(context, "run-1");
  await environment.exec("mkdir sub; cd sub; export COLOUR='a b\n夜' NIGHTSHIFT_JOB_ID=forged", {
    signal: never,
  });
  const { id } = await processes.start(
    {
      command:
        'pwd; echo "$COLOUR/$GREETING/$NIGHTSHIFT_RUN_ID/$NIGHTSHIFT_PARENT_ID/$NIGHTSHIFT_JOB_ID"; env',
    },
    never,
  );
  const { output, process: ended } = await processes.wait(id, WAIT);
  expect(output).toContain(`${workspace}/sub\na b\n夜/hello/${id}/run-1/job\n`);
  expect(output).not.toContain("sk-provider");
  expect(ended).toMatchObject({ state: "exited", exitCode: 0, ownerRunId: "run-1", environment: "local" });
});

test("S1: it sees the workspace and nothing else of the home, where bubblewrap can work", async (task) => {
  const walls = { kind: "hide", hidden: [], shown: [] } as const;
  task.skip((await whyNoWalls(walls, { PATH: process.env.PATH ?? "" })) !== undefined, "no walls here");
  const context = await testContext();
  const { processes, workspace } = await owned(context, "run-1");
  await writeFile(join(workspace, "mine.txt"), "mine");
  const { id } = await processes.start(
    { command: `cat mine.txt; ls ${context.home.paths.root}; echo; ls /proc | grep -c '^[0-9]'` },
    never,
  );
  const { output } = await processes.wait(id, WAIT);
  expect(output).toMatch(/^mineworkspaces\n\n/);
  expect(await readFile(context.home.paths.tokenFile, "utf8")).not.toBe("");
});

test("an owner's end ends what it started with all that this left, but not what persists or was handed off", async () => {
  const context = await testContext();
  const child = await owned(context, "child", { parentRunId: "parent" });
  const parent = await owned(context, "parent");
  const command = "setsid sleep 300 & sleep 300";
  const [ends, persists, handedOff] = [
    await child.processes.start({ command }, never),
    await child.processes.start({ command, persist: true }, never),
    await child.processes.start({ command }, never),
  ];
  expect(await child.processes.handOff(handedOff.id)).toMatchObject({ ownerRunId: "parent" });
  await expect(child.processes.poll(handedOff.id)).rejects.toMatchObject({ code: "process.unknown" });

  expect(await child.close()).toEqual({ ended: 1, survivors: 0 });

  expect(processesMarked(ends.id)).toEqual([]);
  expect((await rowOf(context, ends.id)).state).toBe("killed");
  expect(processesMarked(persists.id).length).toBeGreaterThan(2);
  expect((await parent.processes.list()).map(({ id }) => id)).toEqual([handedOff.id]);
  await expect(child.processes.start({ command }, never)).rejects.toMatchObject({
    code: "environment.unusable",
  });
  expect(await parent.processes.kill(handedOff.id)).toMatchObject({ survivors: 0, wasRunning: true });
});

test("an owner sees nothing of another's; a person sees all, and a prefix is enough where it names one of theirs", async () => {
  const context = await testContext();
  const [a, b] = [await owned(context, "run-a"), await owned(context, "s", { session: "mcp:1" })];
  const one = await a.processes.start({ command: "sleep 300" }, never);
  const two = await b.processes.start({ command: "sleep 300" }, never);
  expect((await a.processes.list()).map(({ id }) => id)).toEqual([one.id]);
  await expect(a.processes.kill(two.id)).rejects.toMatchObject({ code: "process.unknown" });
  const person = homeProcesses(context, "/");
  expect((await person.list()).map(({ id }) => id).toSorted()).toEqual([one.id, two.id].toSorted());
  expect((await a.processes.poll(one.id.slice(0, 12))).process.id).toBe(one.id);
  expect(await person.kill(two.id.slice(5, 13))).toMatchObject({
    survivors: 0,
    process: { state: "killed" },
  });
});

test("what goes through an environment's own connection is held by this process of ours: known to all, ended on request, and never handed off", async () => {
  const context = await testContext();
  // As in a container or over ssh: limits are the environment's, so it goes that way.
  const { processes } = await owned(context, "run-1", { spec: { backend: "local", limits: { cpu: 1 } } });
  const { id } = await processes.start({ command: "read x; echo got $x; sleep 300" }, never);
  const other = await testContext({ path: context.home.paths.root });
  const person = homeProcesses(other, "/");
  await processes.write(id, "go\n");
  await expect(person.write(id, "x")).rejects.toMatchObject({ code: "input.refused" });
  await expect(processes.handOff(id)).rejects.toMatchObject({ code: "input.refused" });
  expect(await rowOf(other, id)).toMatchObject({ isSupervised: false, state: "running" });
  for (let turn = 0; turn < 500 && (await person.poll(id)).output === ""; turn++)
    await realClock.sleep(20, never);
  expect((await person.log(id)).output).toBe("got go\n");
  expect(await person.kill(id)).toMatchObject({ process: { state: "killed" } });
});

test("a run's notice is a line of its log; deliver targets are refused it, and a pattern nobody can read", async () => {
  const context = await testContext();
  const { processes } = await owned(context, "run-1");
  const start = (notify: object) =>
    processes.start({ command: "echo bye", notify: { onExit: true, ...notify } }, never);
  await expect(start({ targets: ["local"] })).rejects.toMatchObject({ code: "input.refused" });
  await expect(start({ watch: [{ regex: "(" }] })).rejects.toMatchObject({ code: "input.invalid" });
  await expect(start({ heartbeatMs: 1_000 })).rejects.toMatchObject({ code: "input.invalid" });
  const { id } = await start({});
  const person = homeProcesses(context, "/");
  for (let turn = 0; turn < 500 && (await person.list())[0]?.state === "running"; turn++)
    await realClock.sleep(20, never);
  const later: Context = {
    ...context,
    ledger: { ...context.ledger, now: async () => (await context.ledger.now()) + 3_000 },
  };
  const tending = [new BackgroundTending(later), new BackgroundTending(later)];
  await Promise.all(tending.map((one) => one.tend()));
  const told = (await context.ledger.events({ runId: "run-1", limit: 100 })).filter(
    ({ kind }) => kind === "process-notice",
  );
  expect(told.map(({ data }) => [data.processId, data.exitCode, data.tail])).toEqual([[id, 0, "bye\n"]]);
});

/** The id of a run that is not over: what tending asks for before it ends an owner's processes. */
async function openRun(context: Context): Promise<string> {
  await writeScript(context, "any.sh", "true");
  await addJob(context, { id: "any", run: { script: "any.sh" }, schedule: "every 1d" });
  return (await queueRun(context, "any")).id;
}

/** The same home, `ms` later. */
const ahead = (context: Context, ms: number): Context => ({
  ...context,
  ledger: { ...context.ledger, now: async () => (await context.ledger.now()) + ms },
});

async function noticesOf(context: Context, runId: string): Promise<string[]> {
  const events = await context.ledger.events({ runId, limit: 100 });
  return events.filter(({ kind }) => kind === "process-notice").map(({ data }) => String(data.text));
}

test("a heartbeat tells what was printed since the last one, at most so often, and nothing where nothing came", async () => {
  const context = await testContext();
  const runId = await openRun(context);
  const { processes } = await owned(context, runId);
  const notify = { onExit: false, heartbeatMs: 60_000 };
  const { id } = await processes.start({ command: "echo one; read x; echo two; read x", notify }, never);
  const untilOutput = async (text: string) => {
    for (let turn = 0; turn < 500 && !(await processes.poll(id)).output.includes(text); turn++)
      await realClock.sleep(20, never);
  };
  const tendAt = (ms: number) => new BackgroundTending(ahead(context, ms)).tend();
  await untilOutput("one");
  await tendAt(30_000);
  expect(await noticesOf(context, runId)).toEqual([]);
  await tendAt(61_000);
  await tendAt(125_000);
  expect(await noticesOf(context, runId)).toHaveLength(1);
  await processes.write(id, "go\n");
  await untilOutput("two");
  await tendAt(130_000);
  await tendAt(131_000);

  const told = await noticesOf(context, runId);
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/still runs, for .* now\.\n\nNew output:\none$/);
  expect(told[1]).toMatch(/New output:\ntwo$/);
});

test("hermes#15276: one message in 15 s; lines that come between are counted; three such in a row turn it into the exit's alone", async () => {
  const context = await testContext();
  const runId = await openRun(context);
  const { processes } = await owned(context, runId);
  const command = "while read x; do echo hit $x; echo miss; done";
  const notify = { onExit: false, watch: [{ text: "hit" }] };
  const { id } = await processes.start({ command, notify }, never);
  const hit = async (word: string) => {
    await processes.write(id, `${word}\n`);
    for (let turn = 0; turn < 500 && !(await processes.poll(id)).output.includes(`hit ${word}`); turn++)
      await realClock.sleep(20, never);
  };
  let at = 0;
  const round = async (word: string, ms: number) => {
    await hit(word);
    at += ms;
    await new BackgroundTending(ahead(context, at)).tend();
  };
  await round("first", 0);
  for (const n of [1, 2, 3]) {
    await round(`early-${n}`, 1_000);
    await round(`told-${n}`, 15_000);
  }
  await round("after", 60_000);
  const told = await noticesOf(context, runId);
  expect(told).toHaveLength(4);
  expect(told[0]).toMatch(/printed:\nhit first$/);
  expect(told[1]).toMatch(/printed:\nhit told-1\n\(and 1 more matching lines\)$/);
  expect(told[3]).toContain("Too many lines match: watching ends here, and only its end will be told.");

  await processes.closeStdin(id);
  for (let turn = 0; turn < 500 && (await rowOf(context, id)).state === "running"; turn++) {
    await new BackgroundTending(ahead(context, at)).tend();
    await realClock.sleep(20, never);
  }
  await new BackgroundTending(ahead(context, at + 60_000)).tend();
  const last = (await noticesOf(context, runId)).at(-1);
  expect(last).toContain("ended with exit code 0");
});

test("ended ones are forgotten after half an hour with all they printed; those that run or left something are not", async () => {
  const context = await testContext();
  const person = homeProcesses(context, "/");
  const [ended, leaves, runs] = [
    await person.start({ command: "true" }, never),
    await person.start({ command: "setsid sleep 300 & true" }, never),
    await person.start({ command: "sleep 300" }, never),
  ];
  onTestFinished(async () => {
    for (const { id } of [leaves, runs])
      await endRun({ clock: realClock }, { runId: id, known: [], graceMs: 0 });
  });
  for (const { id } of [ended, leaves]) await person.wait(id, WAIT);
  await forgetProcesses(context);
  expect(await person.list()).toHaveLength(3);
  const ahead = 31 * 60_000;
  const later: Context = {
    ...context,
    clock: { ...context.clock, now: () => context.clock.now() + ahead },
    ledger: { ...context.ledger, now: async () => (await context.ledger.now()) + ahead },
  };
  await forgetProcesses(later);
  expect((await person.list()).map(({ id }) => id).toSorted()).toEqual([leaves.id, runs.id].toSorted());
  await expect(readFile(join(context.home.paths.runFolder, "processes", ended.id, "exit"))).rejects.toThrow();
});
