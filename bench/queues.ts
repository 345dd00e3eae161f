// Ten thousand queued tasks with priorities, a graph of a thousand tasks, and ten image-like Python tasks at once against
// Celery on Redis (prefork, as many processes as we have workers), where both are at hand.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BLUR } from "./blur.ts";
import { type Benchmark, median, type Result, type Setup, spread, withFolder } from "./measure.ts";
import { withRedis } from "./redis-server.ts";

const run = promisify(execFile);
const TASKS = Number(process.env.BENCH_TASKS ?? 10_000);
const GRAPH = 1_000;
const IMAGES = 10;
/** A Python that has Celery. */
const PYTHON = process.env.CELERY_PYTHON ?? "/usr/bin/python3";

interface Measured {
  ms: number;
  queuedMs: number;
  inversions: number;
}

const ours = (kind: string, ...args: (number | string)[]) =>
  withFolder(async (home) => {
    const script = join(import.meta.dirname, "queue-node.mjs");
    const { stdout } = await run(process.execPath, [script, join(home, "home"), kind, ...args.map(String)], {
      timeout: 600_000,
    });
    return JSON.parse(stdout) as unknown;
  });

async function queued({ repeats }: Setup): Promise<Result> {
  const all: Measured[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) all.push((await ours("tasks", TASKS)) as Measured);
  const rates = all.map(({ ms }) => TASKS / (ms / 1_000));
  const queuing = all.map(({ queuedMs }) => TASKS / (queuedMs / 1_000));
  const late = all.map(({ inversions }) => (inversions * 100) / TASKS);
  return {
    what: `${TASKS.toLocaleString("en")} queued no-op tasks of three priorities, tasks a second`,
    value: spread(rates, 0),
    note: `handed in one by one by 50 producers at ${spread(queuing, 0)} /s; began after one of a lower priority had: ${spread(late, 2)} %`,
  };
}

async function graph({ repeats }: Setup): Promise<Result> {
  const all: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) all.push(((await ours("graph", GRAPH)) as Measured).ms);
  return {
    what: "a workflow of 1,000 in-process tasks, each behind two others, journaled",
    value: `${spread(all, 0)} ms`,
    note: `${(median(all) / (GRAPH / 1_000)).toFixed(0)} µs a task`,
  };
}

async function images({ repeats, say }: Setup): Promise<Result> {
  const what = `${IMAGES} image-like Python tasks at once against Celery's, speed`;
  const hasCelery = await run(PYTHON, ["-c", "import celery, redis"]).catch(() => undefined);
  const celery = hasCelery && (await withRedis([], (port) => celeryRounds(port, repeats)));
  if (!celery) {
    say("no Celery or no Redis: set CELERY_PYTHON to a Python that has it to compare");
    return { what, value: "not measured: no Celery or no Redis here" };
  }
  const { ms: own } = (await ours("images", IMAGES, repeats)) as { ms: number[] };
  const ratios = own.map((ms, index) => (celery[index] ?? Number.NaN) / ms);
  return {
    what,
    value: `${spread(ratios, 2)} ×`,
    goal: "≥ 1 ×",
    ok: median(ratios) >= 1,
    note: `${spread(own, 0)} ms against ${spread(celery, 0)} ms, submission to last result, two processes each, all warm`,
  };
}

/** Each round's time, ms, after one to get warm. */
function celeryRounds(port: string, rounds: number): Promise<number[]> {
  return withFolder(async (folder) => {
    const url = `redis://127.0.0.1:${port}/0`;
    await writeFile(join(folder, "images.py"), celeryApp(url));
    await writeFile(join(folder, "rounds.py"), celeryClient(rounds));
    const args = ["-m", "celery", "-A", "images", "worker", "-c", "2", "--loglevel=ERROR"];
    const worker = spawn(PYTHON, args, { cwd: folder, stdio: "ignore" });
    try {
      const { stdout } = await run(PYTHON, ["rounds.py"], { cwd: folder, timeout: 120_000 });
      return JSON.parse(stdout) as number[];
    } finally {
      worker.kill("SIGTERM");
      if (worker.exitCode === null) await once(worker, "exit");
    }
  });
}

const celeryApp = (url: string) => `from celery import Celery
app = Celery("images", broker="${url}", backend="${url}")
${BLUR}
@app.task
def blur_image(seed):
    return blur(seed)
`;

const celeryClient = (rounds: number) => `import json, time
from celery import group
from images import blur_image
took = []
for turn in range(${rounds + 1}):
    began = time.perf_counter()
    group(blur_image.s(seed) for seed in range(${IMAGES})).apply_async().get(interval=0.001)
    took.append((time.perf_counter() - began) * 1000)
print(json.dumps(took[1:]))
`;

export const queues: Benchmark = {
  name: "queues",
  run: async (setup) => [await queued(setup), await graph(setup), await images(setup)],
};
