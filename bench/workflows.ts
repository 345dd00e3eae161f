// A chain of ten no-op tasks, journaled, from its submission to its stored end; beside it the same chain in Dagu, where its
// program is at hand (DAGU, or `dagu` on PATH), whose tasks are commands.

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Benchmark, fsyncsPerSecond, median, type Result, spread, withFolder } from "./measure.ts";

const run = promisify(execFile);
const RUNS = "100";
const DAGU = process.env.DAGU ?? "dagu";

interface Measured {
  p50Ms: number;
  p99Ms: number;
  commits: number;
}

export const workflows: Benchmark = {
  name: "workflows",
  async run({ repeats, say }) {
    const hasDagu = await run(DAGU, ["version"]).then(
      () => true,
      () => false,
    );
    if (!hasDagu) say("no dagu: set DAGU to its program to compare");
    const own: Measured[] = [];
    const shell: Measured[] = [];
    const dagu: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      own.push(await ours("inProcess"));
      shell.push(await ours("shell"));
      if (hasDagu) dagu.push(await daguChain());
    }
    const fsyncs = await withFolder(async (folder) => fsyncsPerSecond(folder));
    return [...ownResults(own, fsyncs), ...shellResults(shell, dagu)];
  },
};

function ownResults(own: readonly Measured[], fsyncs: number): Result[] {
  const p50 = own.map(({ p50Ms }) => p50Ms);
  const commits = median(own.map((one) => one.commits));
  return [
    {
      what: "workflow of ten in-process no-ops in a chain, journaled, p50",
      value: `${spread(p50)} ms`,
      goal: "≤ 10 ms",
      ok: median(p50) <= 10,
      note: `p99 ${spread(own.map(({ p99Ms }) => p99Ms))} ms; disk of ${fsyncs.toFixed(0)} fsync/s`,
    },
    { what: "its commits (one fsync each)", value: commits.toFixed(0), goal: "≤ 4", ok: commits <= 4 },
  ];
}

function shellResults(shell: readonly Measured[], dagu: readonly number[]): Result[] {
  const p50 = shell.map(({ p50Ms }) => p50Ms);
  if (dagu.length === 0)
    return [{ what: "the same of ten commands (`true`), p50", value: `${spread(p50)} ms` }];
  const ratios = dagu.map((ms, index) => ms / (p50[index] ?? Number.NaN));
  return [
    {
      what: "the same of ten commands (`true`) against Dagu's, speed",
      value: `${spread(ratios, 2)} ×`,
      goal: "≥ 1 ×",
      ok: median(ratios) >= 1,
      note: `${spread(p50)} ms against ${spread(dagu)} ms (\`dagu start\`, its process included)`,
    },
  ];
}

const ours = (kind: string) =>
  withFolder(async (home) => {
    const script = join(import.meta.dirname, "workflow-node.mjs");
    const runs = kind === "shell" ? "20" : RUNS;
    const { stdout } = await run(process.execPath, [script, join(home, "home"), runs, kind], {
      timeout: 300_000,
    });
    return JSON.parse(stdout) as Measured;
  });

/** The median of a few starts, ms. */
function daguChain(): Promise<number> {
  return withFolder(async (folder) => {
    const steps = Array.from({ length: 10 }, (_, index) => {
      const depends = index > 0 ? `\n    depends: [t${index - 1}]` : "";
      return `  - name: t${index}\n    command: "true"${depends}`;
    });
    const file = join(folder, "chain.yaml");
    await mkdir(join(folder, "home"));
    await writeFile(file, `steps:\n${steps.join("\n")}\n`);
    const env = { PATH: process.env.PATH, HOME: folder, DAGU_HOME: join(folder, "home") };
    const took: number[] = [];
    for (let start = 0; start < 5; start += 1) {
      const began = performance.now();
      await run(DAGU, ["start", file], { env, timeout: 60_000 });
      took.push(performance.now() - began);
    }
    return median(took);
  });
}
