// What a task costs by its executor: a function of this process, a warm Python worker against a cold interpreter; and what
// fifty registrations weigh in an idle node.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openHome } from "../src/index.ts";
import { silentLog } from "../src/kernel/log.ts";
import { callExecutor } from "../src/orchestrate/executors/call-executor.ts";
import { defineExecutor } from "../src/orchestrate/executors/define-executor.ts";
import { executorOfDefinition } from "../src/orchestrate/executors/from-definition.ts";
import type { ExecutorCall } from "../src/records/executor.ts";
import type { RunContext } from "../src/records/run-context.ts";
import { type Benchmark, median, type Result, type Setup, spread, withFolder } from "./measure.ts";

const CLI = join(import.meta.dirname, "../../../bin/nightshift.js");
const CALLS = 20_000;
const PYTHON_CALLS = 50;
const REGISTERED = 50;

/** A run that is on no record: begun at once, watched by nobody. */
function unrecorded(id: string): RunContext {
  const signal = new AbortController().signal;
  return {
    run: { id, attempt: 1, idempotencyKey: id, rootId: id } as RunContext["run"],
    lineage: { rootId: id, parentId: undefined, depth: 0 },
    signal,
    abortReason: () => undefined,
    begin: async () => true,
    addProcess: async () => true,
    touch() {},
    emit() {},
    log: silentLog,
  };
}

const clock: ExecutorCall["clock"] = {
  now: () => Date.now(),
  monotonicMs: () => Math.floor(performance.now()),
  uptimeMs: () => Math.floor(performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

const callOf = (params: ExecutorCall["params"], id = "01bench0000000000000000000"): ExecutorCall => ({
  ...{ params, env: {}, workdir: "/", environment: undefined, timezone: "UTC", timeoutMs: 0 },
  ...{ clock, ctx: unrecorded(id) },
});

async function inProcess({ repeats }: Setup): Promise<Result> {
  const executor = await executorOfDefinition(
    defineExecutor({
      name: "noop",
      input: {
        type: "object",
        properties: { n: { type: "integer" } },
        required: ["n"],
        additionalProperties: false,
      },
      output: { type: "integer" },
      effects: "none",
      run: ({ n }) => n as never,
    }),
    { source: "bench", notes: [] },
  );
  const rounds: number[] = [];
  for (let round = 0; round <= repeats; round++) {
    const began = performance.now();
    for (let n = 0; n < CALLS; n++) await callExecutor(executor, callOf({ n }));
    rounds.push(((performance.now() - began) * 1_000) / CALLS);
  }
  const warm = rounds.slice(1);
  return {
    what: "a function with input and output schema, unjournaled",
    value: `${spread(warm)} µs`,
    goal: "≤ 20 µs",
    ok: median(warm) <= 20,
    note: `${CALLS} calls a round`,
  };
}

async function python({ repeats }: Setup): Promise<Result> {
  const what = "a Python function in a warm worker";
  if (spawnSync("python3", ["-c", ""]).status !== 0) return { what, value: "not measured: no python3 here" };
  return withFolder(async (home) => {
    mkdirSync(join(home, "executors"));
    writeFileSync(
      join(home, "executors", "noop.py"),
      "import json\nfrom nightshift import executor\n@executor\ndef noop(n: int): return n\n",
    );
    const context = await openHome({ home });
    try {
      const [executor] = await context.executors.named("noop");
      if (!executor) throw new Error("noop is not registered");
      await callExecutor(executor, callOf({ n: 0 }));
      const interpreter = spawnSync("python3", ["-c", "import sys; print(sys.executable)"], {
        encoding: "utf8",
      });
      const rounds = await measurePairs(repeats, executor, interpreter.stdout.trim());
      const ratios = rounds.map(({ warm, cold }) => cold / warm);
      return {
        what,
        value: `${spread(
          rounds.map(({ warm }) => warm),
          2,
        )} ms`,
        note: `cold python -c: ${spread(
          rounds.map(({ cold }) => cold),
          1,
        )} ms; ${spread(ratios)} × as long`,
      };
    } finally {
      await context.close();
    }
  });
}

async function measurePairs(
  repeats: number,
  executor: Parameters<typeof callExecutor>[0],
  interpreter: string,
) {
  const rounds: { warm: number; cold: number }[] = [];
  for (let round = 0; round < repeats; round++) {
    const began = performance.now();
    for (let n = 0; n < PYTHON_CALLS; n++) {
      const outcome = await callExecutor(executor, callOf({ n }));
      if (outcome.state !== "succeeded") throw new Error(JSON.stringify(outcome));
    }
    const warm = (performance.now() - began) / PYTHON_CALLS;
    const cold = Array.from({ length: 5 }, () => {
      const start = performance.now();
      spawnSync(interpreter, ["-c", "import json; print(json.dumps(1))"]);
      return performance.now() - start;
    });
    rounds.push({ warm, cold: median(cold) });
  }
  return rounds;
}

/** Functions, scripts and Python functions in equal parts, and a few of the config. */
function register(home: string): void {
  const folder = join(home, "executors");
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  for (let n = 0; n < 15; n++) {
    write(
      `f${n}.mjs`,
      `import { defineExecutor } from "nightshift";\nexport default defineExecutor({ name: "f${n}", input: { type: "object" }, run: () => ${n} });\n`,
    );
    write(`s${n}.sh`, `#!/bin/sh\n# nightshift: timeout=60 retry=2\n# param host string\necho ${n}\n`);
    write(`p${n}.py`, `from nightshift import executor\n@executor\ndef p${n}(host: str): return ${n}\n`);
  }
  const entries = Array.from({ length: 5 }, (_, n) => `  c${n}: {shell: "echo {{ params.text }}"}\n`);
  writeFileSync(join(home, "config.yaml"), `executors:\n${entries.join("")}`);
}

async function idle({ say }: Setup): Promise<Result> {
  const what = `idle memory with ${REGISTERED} executors registered`;
  return withFolder(async (home) => {
    register(home);
    const child = spawn(process.execPath, [CLI, "up", "--json", "--port", "0", "--home", home], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
      const { url } = JSON.parse(line.toString().split("\n")[0] ?? "{}") as { url: string };
      const token = readFileSync(join(home, "token"), "utf8").trim();
      const reply = await fetch(`${url}/api/executors`, { headers: { authorization: `Bearer ${token}` } });
      const { executors, problems } = (await reply.json()) as {
        executors: { source: string }[];
        problems: unknown[];
      };
      const own = executors.filter(({ source }) => source !== "built in").length;
      if (own !== REGISTERED || problems.length > 0)
        throw new Error(`${own} registered: ${JSON.stringify(problems)}`);
      say("an idle node for 10 seconds …");
      await new Promise((resolve) => setTimeout(resolve, 10_000));
      const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      const mb = Number(kb) / 1_024;
      const note = "15 functions, 15 scripts, 15 Python functions, 5 of the config";
      return { what, value: `${mb.toFixed(0)} MB`, goal: "≤ 80 MB", ok: mb <= 80, note };
    } finally {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });
}

async function run(setup: Setup): Promise<Result[]> {
  return [await inProcess(setup), await python(setup), await idle(setup)];
}

export const executors: Benchmark = { name: "executors", run };
