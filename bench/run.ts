// Runs benchmarks by name, prints one table, and says on which machine.

import { cpus, totalmem } from "node:os";
import { agentRuns } from "./agent-runs.ts";
import { agents } from "./agents.ts";
import { burst } from "./burst.ts";
import { delivery } from "./delivery.ts";
import { environments } from "./environments.ts";
import { executors } from "./executors.ts";
import { guard } from "./guard.ts";
import { latency } from "./latency.ts";
import type { Benchmark, Result } from "./measure.ts";
import { models } from "./models.ts";
import { packageSize } from "./package-size.ts";
import { queues } from "./queues.ts";
import { scale } from "./scale.ts";
import { startup } from "./startup.ts";
import { throughput, throughputPostgres } from "./throughput.ts";
import { workflows } from "./workflows.ts";

const BENCHMARKS: readonly Benchmark[] = [
  startup,
  throughput,
  throughputPostgres,
  latency,
  burst,
  scale,
  agents,
  agentRuns,
  guard,
  delivery,
  environments,
  models,
  executors,
  workflows,
  queues,
  packageSize,
];

function print(results: readonly Result[]): void {
  console.log("| what | measured | goal | | |\n|---|---|---|---|---|");
  for (const { what, value, goal = "", ok, note = "" } of results) {
    console.log(
      `| ${what} | ${value} | ${goal} | ${ok === undefined ? "" : ok ? "met" : "short"} | ${note} |`,
    );
  }
}

/** Returns the exit code: 0 unless a benchmark broke or was misnamed. A figure that falls short is no error. */
export async function runBenchmarks(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !BENCHMARKS.some((one) => one.name === name));
  if (unknown.length > 0) {
    console.error(
      `No such benchmark: ${unknown.join(", ")}. Known: ${BENCHMARKS.map(({ name }) => name).join(", ")}.`,
    );
    return 2;
  }
  const setup = {
    repeats: Number(process.env.BENCH_REPEATS ?? 5),
    say: (text: string) => console.error(`bench: ${text}`),
  };
  const results: Result[] = [];
  let hasBroken = false;
  for (const { name, run } of BENCHMARKS) {
    if (names.length > 0 && !names.includes(name)) continue;
    setup.say(name);
    try {
      results.push(...(await run(setup)));
    } catch (error) {
      hasBroken = true;
      console.error(error);
      results.push({
        what: name,
        value: "broke",
        note: error instanceof Error ? (error.message.split("\n")[0] ?? "") : "",
      });
    }
  }
  const [cpu] = cpus();
  console.log(
    `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} × ${cpu?.model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GB. Median (least … most) of ${setup.repeats} repeats.\n`,
  );
  print(results);
  return hasBroken ? 1 : 0;
}
