// What outlives a run, and what must never be touched: grandchildren, daemons, recycled pids, and a parent that was
// killed between spawn and commit (L10).

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  groupMembers,
  isSameProcess,
  listProcesses,
  processesMarked,
  readProcess,
} from "../../src/execute/process-table.ts";
import { runScript } from "../../src/execute/run-script.ts";
import { endLeftovers, endRun, signalProcess } from "../../src/execute/terminate.ts";
import type { ProcessIdentity, ProcessRecord } from "../../src/records/process.ts";
import { tempFolder } from "../support/temp.ts";
import { leftOf, makeContext, newId, openRoom, realClock, until, workOf } from "./room.ts";

/** A process of its own group, killed when the test ends. */
function stranger(env: NodeJS.ProcessEnv = {}): ChildProcess & { pid: number } {
  const child = spawn("sleep", ["60"], {
    detached: true,
    stdio: "ignore",
    env: { PATH: process.env.PATH, ...env },
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });
  return child as ChildProcess & { pid: number };
}

function identityOf(pid: number): ProcessIdentity {
  const { startTime, processGroup } = readProcess(pid)!;
  return { pid, startTime, processGroup };
}

describe("what outlives its command", () => {
  test("hermes#60485: a grandchild holds the pipe; the run is judged by its own exit, within the drain", async () => {
    const room = await openRoom({ drainMs: 300 });
    const script = await room.script("holder.sh", "sleep 60 & echo done");
    const context = makeContext();
    const startedAt = performance.now();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome).toEqual({ state: "succeeded", output: "done\n", isSilent: false });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(leftOf(context)).toEqual([]);
    const told = context.events.find((event) => event.kind === "process-ended");
    expect(told?.data).toMatchObject({ why: "outlived the run", ended: [expect.any(Number)], survivors: [] });
  });

  test("a grandchild that finishes within the drain is heard to its end and ended by nobody", async () => {
    const room = await openRoom({ drainMs: 10_000 });
    const script = await room.script("late.sh", "(sleep 0.3; echo late) & echo early");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(outcome.output).toBe("early\nlate\n");
    expect(context.events.filter((event) => event.kind === "process-ended")).toEqual([]);
  });

  test("a daemon that left the group (setsid) and the pipe is found by its mark and ended", async () => {
    const room = await openRoom();
    const script = await room.script(
      "daemon.sh",
      "setsid sh -c 'echo $$ > daemon.pid; exec sleep 60' </dev/null >/dev/null 2>&1 &\nuntil [ -s daemon.pid ]; do sleep 0.01; done; cat daemon.pid",
    );
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    const daemon = Number(outcome.output);
    expect(daemon).toBeGreaterThan(1);
    expect(readProcess(daemon)?.isZombie ?? true).toBe(true);
    expect(context.events.find((event) => event.kind === "process-ended")?.data.ended).toEqual([daemon]);
  });

  test("a child that cleaned its environment but stayed in the group is ended", async () => {
    const room = await openRoom();
    const script = await room.script("clean.sh", "env -i /bin/sleep 60 </dev/null >/dev/null 2>&1 & echo $!");
    const context = makeContext();

    const outcome = await runScript(room.deps, workOf(script), context);

    expect(context.events.find((event) => event.kind === "process-ended")?.data).toEqual({
      why: "outlived the run",
      ended: [Number(outcome.output)],
      survivors: [],
    });
    expect(leftOf(context)).toEqual([]);
  });

  test("a daemon that gave up the mark has been handed off on purpose and lives on", async () => {
    const room = await openRoom();
    const script = await room.script(
      "handoff.sh",
      "env -u NIGHTSHIFT_RUN_ID setsid sh -c 'echo $$ > d.pid; exec sleep 60' </dev/null >/dev/null 2>&1 &\nuntil [ -s d.pid ]; do sleep 0.01; done; cat d.pid",
    );

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    const daemon = identityOf(Number(outcome.output));
    expect(isSameProcess(daemon)).toBe(true);
    signalProcess(daemon, "SIGKILL");
    await until(() => !isSameProcess(daemon), "the daemon has gone");
  });
});

describe("recovery", () => {
  test("L10: after kill -9 of the owner, what is left of its run is ended: group, daemon and all", async () => {
    const runId = newId();
    const leader = stranger({ NIGHTSHIFT_RUN_ID: runId });
    const daemon = stranger({ NIGHTSHIFT_RUN_ID: runId });
    const record = recordOf(runId, identityOf(leader.pid));

    const { ended, survivors } = await endLeftovers({ clock: realClock }, [record], {
      runId,
      graceMs: 1_000,
    });

    expect(new Set(ended)).toEqual(new Set([leader.pid, daemon.pid]));
    expect(survivors).toEqual([]);
    expect(processesMarked(runId)).toEqual([]);
  });

  test("L10: with nothing left it says so, and can be asked again", async () => {
    const runId = newId();
    expect(await endLeftovers({ clock: realClock }, [], { runId })).toEqual({ ended: [], survivors: [] });
  });

  test("L10: a leader that lives proves its group: members without the mark are ended too", async () => {
    const runId = newId();
    const leader = spawn("/bin/sh", ["-c", "env -i /bin/sleep 60 & wait"], {
      detached: true,
      stdio: "ignore",
      env: { PATH: process.env.PATH, NIGHTSHIFT_RUN_ID: runId },
    });
    const { pid } = leader as ChildProcess & { pid: number };
    onTestFinished(() => void (groupMembers(pid).length > 0 && process.kill(-pid, "SIGKILL")));
    await until(() => groupMembers(pid).length === 2, "the shell and its child");

    const answer = await endLeftovers({ clock: realClock }, [recordOf(runId, identityOf(pid))], { runId });

    expect(answer.ended).toHaveLength(2);
    expect(groupMembers(pid)).toEqual([]);
  });

  test("hermes#89614: a recycled pid is never signalled, nor is the group that now has its number", async () => {
    const other = stranger();
    const recycled = { ...identityOf(other.pid), startTime: "12345" };
    const record = recordOf(newId(), recycled);

    const answer = await endLeftovers({ clock: realClock }, [record], { runId: record.runId, graceMs: 100 });

    expect(answer).toEqual({ ended: [], survivors: [] });
    expect(signalProcess(recycled, "SIGKILL")).toBe(false);
    expect(isSameProcess(identityOf(other.pid))).toBe(true);
  });

  test("this very process is never signalled, even when it carries the mark or is named", async () => {
    const self = identityOf(process.pid);

    expect(signalProcess(self, "SIGTERM")).toBe(false);
    const answer = await endRun(
      { clock: realClock },
      { runId: newId(), known: [{ ...self, processGroup: -1 }] },
    );

    expect(answer).toEqual({ ended: [], survivors: [] });
  });

  test("a run of another id in the same home is left alone", async () => {
    const other = stranger({ NIGHTSHIFT_RUN_ID: newId() });

    await endRun({ clock: realClock }, { runId: newId(), known: [] });

    expect(isSameProcess(identityOf(other.pid))).toBe(true);
  });
});

describe("a crash between spawn and commit", () => {
  test("L10: kill -9 of the parent while the shim waits leaves no process, and the command never ran", async () => {
    const folder = await tempFolder();
    const proof = join(folder, "proof");
    const marker = newId();
    const module = pathToFileURL(join(import.meta.dirname, "../../src/execute/spawn-held.ts")).href;
    const program = join(folder, "parent.ts");
    await writeFile(
      program,
      `import { spawnHeld } from ${JSON.stringify(module)};
       const held = await spawnHeld({
         command: "/bin/sh", args: ["-c", ${JSON.stringify(`touch ${proof}`)}], cwd: ${JSON.stringify(folder)},
         env: { PATH: process.env.PATH, NIGHTSHIFT_RUN_ID: ${JSON.stringify(marker)} },
       });
       console.log(held.identity.pid);
       setInterval(() => {}, 1000);`,
    );
    const parent = spawn(process.execPath, [...(await loaderOptions(folder)), program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [printed] = await once(parent.stdout, "data");
    const shim = identityOf(Number(printed));
    expect(isSameProcess(shim)).toBe(true);

    parent.kill("SIGKILL");
    await once(parent, "exit");

    await until(() => !isSameProcess(shim), "the shim has gone");
    expect(listProcesses().filter((entry) => entry.processGroup === shim.pid && !entry.isZombie)).toEqual([]);
    await expect(readFile(proof)).rejects.toThrow("ENOENT");
  });
});

/** How this Node runs a TypeScript file: by itself where it can, else through esbuild, which the project builds with. */
async function loaderOptions(folder: string): Promise<string[]> {
  if (Number(process.versions.node.split(".")[0]) >= 23) return [];
  const loader = join(folder, "loader.mjs");
  const esbuild = import.meta.resolve("esbuild");
  await writeFile(
    loader,
    `import { readFile } from "node:fs/promises"; import { transform } from ${JSON.stringify(esbuild)};
     export async function load(url, context, next) {
       if (!url.endsWith(".ts")) return next(url, context);
       const { code } = await transform(await readFile(new URL(url), "utf8"), { loader: "ts", format: "esm" });
       return { format: "module", shortCircuit: true, source: code };
     }`,
  );
  return ["--no-warnings", "--experimental-loader", pathToFileURL(loader).href];
}

function recordOf(runId: string, identity: ProcessIdentity): ProcessRecord {
  return {
    ...identity,
    id: newId(),
    runId,
    hostId: "host",
    command: "sleep 60",
    cwd: "/",
    startedAt: 0,
    endedAt: undefined,
    exitCode: undefined,
  };
}
