// What a person waits for: `--version`, `job add`, `up`; and what an idle node costs.
//
// Short commands are compared by user and system CPU of the whole process: on a machine with other work, wall time
// says more about that work.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Benchmark, median, type Result, type Setup, spread, withFolder } from "./measure.ts";

const CLI = join(import.meta.dirname, "../../../bin/nightshift.js");
/** Runs in one measurement: shells count CPU time in hundredths of a second. */
const ROUNDS = 5;

/** User and system CPU of one run of node with these arguments, ms; `%` becomes a number that differs. */
function cpuMs(args: readonly string[], unique: string): number {
  const script = `i=0; while [ $i -lt ${ROUNDS} ]; do n="$1$i"; shift 0; eval "$2" >/dev/null || exit 1; i=$((i+1)); done; times`;
  const command = [process.execPath, ...args].map((arg) => `'${arg}'`).join(" ");
  const { stdout, stderr, status } = spawnSync(
    "sh",
    ["-c", script, "sh", unique, command.replace("%", `'"$n"'`)],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
  const children = stdout.trim().split("\n").at(-1) ?? "";
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => Number(m) * 60 + Number(s));
  return (seconds.reduce((sum, one) => sum + one, 0) * 1_000) / ROUNDS;
}

async function commands({ repeats }: Setup): Promise<Result[]> {
  return withFolder(async (home) => {
    mkdirSync(join(home, "scripts"));
    writeFileSync(join(home, "scripts", "a.sh"), "true\n");
    const add = [CLI, "--home", home, "job", "add", "every 5m", "--script", "a.sh", "--name", "job %"];
    cpuMs(add, "first");
    const rounds = Array.from({ length: repeats }, (_, round) => {
      const bare = cpuMs(["-e", "0"], "");
      return { bare, version: cpuMs([CLI, "--version"], ""), add: cpuMs(add, `${round}-`) };
    });
    const ratio = (name: "version" | "add") => rounds.map((round) => round[name] / round.bare);
    const bare = `node -e 0: ${spread(
      rounds.map((round) => round.bare),
      0,
    )} ms CPU`;
    const line = (what: string, name: "version" | "add", goal: number): Result => ({
      ...{ what, value: `${spread(ratio(name), 2)} ×`, goal: `≤ ${goal} × node -e 0` },
      ...{ ok: median(ratio(name)) <= goal, note: bare },
    });
    return [line("nightshift --version", "version", 1.25), line("nightshift job add", "add", 2)];
  });
}

interface Usage {
  cpuMs: number;
  rssMb: number;
}

/** From /proc: Linux only; elsewhere the idle figures are left out. */
function usage(pid: number): Usage | undefined {
  try {
    const [, stat = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = stat.split(" ").slice(11, 13).map(Number);
    const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return { cpuMs: ((user ?? 0) + (system ?? 0)) * 10, rssMb: Number(kb) / 1_024 };
  } catch {
    return undefined;
  }
}

const idle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Starts `up` and resolves when it says that it serves. */
async function up(home: string): Promise<{ child: ChildProcess; readyMs: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, [CLI, "up", "--json", "--port", "0", "--home", home], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return { child, readyMs: performance.now() - began };
}

/** A bare Node that only waits. */
async function bareNode(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1e6)"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

async function ready({ repeats }: Setup): Promise<Result> {
  const times: number[] = [];
  const cpu: number[] = [];
  await withFolder(async (home) => {
    for (let round = 0; round < repeats; round++) {
      const { child, readyMs } = await up(home);
      times.push(readyMs);
      cpu.push(usage(child.pid ?? 0)?.cpuMs ?? Number.NaN);
      await end(child);
    }
  });
  const note = `CPU used until then: ${spread(cpu, 0)} ms`;
  return {
    what: "up: start to ready",
    value: `${spread(times, 0)} ms`,
    goal: "≤ 300 ms",
    ok: median(times) <= 300,
    note,
  };
}

async function idleCost({ say }: Setup): Promise<Result[]> {
  const seconds = Number(process.env.BENCH_IDLE_SECONDS ?? 60);
  say(`an idle node for ${seconds} seconds …`);
  return withFolder(async (home) => {
    const { child } = await up(home);
    const bare = await bareNode();
    const before = usage(child.pid ?? 0);
    await idle(seconds * 1_000);
    const [after, plain] = [usage(child.pid ?? 0), usage(bare.pid ?? 0)];
    await Promise.all([end(child), end(bare)]);
    if (!before || !after || !plain) return [{ what: "idle node", value: "not measured: no /proc here" }];
    const more = after.rssMb - plain.rssMb;
    const share = (after.cpuMs - before.cpuMs) / (seconds * 10);
    const note = `${after.rssMb.toFixed(0)} MB; bare node ${plain.rssMb.toFixed(0)} MB`;
    return [
      {
        ...{ what: `idle memory after ${seconds} s`, value: `bare node + ${more.toFixed(0)} MB` },
        ...{ goal: "≤ bare node + 30 MB", ok: more <= 30, note },
      },
      {
        what: "idle CPU",
        value: `${share.toFixed(2)} %`,
        goal: "≤ 0.2 %",
        ok: share <= 0.2,
        note: "of one core",
      },
    ];
  });
}

export const startup: Benchmark = {
  name: "startup",
  run: async (setup) => [...(await commands(setup)), await ready(setup), ...(await idleCost(setup))],
};
