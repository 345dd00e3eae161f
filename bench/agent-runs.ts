// Two hundred agent jobs at once in one node, whole: claimed, prompted, talked with over HTTP, logged, archived, closed.
//
// The node is a process of its own on a fresh home; the scripted model, 50 ms an answer, is this one. Each run has two
// turns with a tool call between. With and without the relay take turns, so that a busy moment meets both.

import { execFile } from "node:child_process";
import { loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { callTools, type RecordedRequest, say, startModelServer } from "../test/support/model-server.ts";
import { type Benchmark, median, type Result, type Setup, spread, withFolder } from "./measure.ts";

const run = promisify(execFile);
const RUNS = Number(process.env.BENCH_AGENT_RUNS ?? 200);
const MODEL_MS = 50;

interface Measured {
  ms: number;
  cpuMs: number;
  rssMb: number;
  startMb: number;
}

type Way = "relay" | "bare" | "budget";

const PLAN = { todos: [{ content: "read the logs", status: "in_progress" }] };

/** Calls the tool first, and answers once it has its result. */
function answer({ body }: RecordedRequest) {
  const hasResult = body.messages.at(-1)?.role === "tool";
  return hasResult
    ? say("One error: the disk of the build machine is nearly full.", { pieceDelayMs: MODEL_MS })
    : callTools([{ name: "todo", arguments: PLAN }], { pieceDelayMs: MODEL_MS });
}

async function measure(baseUrl: string, way: Way): Promise<Measured> {
  const script = join(import.meta.dirname, "agents-node.mjs");
  return withFolder(async (folder) => {
    const settings = [way === "bare" ? "off" : "on", way === "budget" ? "1000000" : "0"];
    const args = [script, join(folder, "home"), String(RUNS), baseUrl, ...settings];
    const { stdout } = await run(process.execPath, args, { timeout: 300_000 });
    return JSON.parse(stdout) as Measured;
  });
}

async function benchmark({ repeats, say: tell }: Setup): Promise<Result[]> {
  const server = await startModelServer(answer, { closesWithTest: false });
  const rounds: Record<Way, Measured[]> = { relay: [], bare: [], budget: [] };
  const loads: number[] = [];
  try {
    for (let round = 0; round < repeats; round++) {
      tell(`${RUNS} agent runs, round ${round + 1} of ${repeats} …`);
      const ways: Way[] = round % 2 === 0 ? ["relay", "bare", "budget"] : ["budget", "bare", "relay"];
      for (const way of ways) rounds[way].push(await measure(server.baseUrl, way));
      loads.push(loadavg()[0] ?? 0);
    }
  } finally {
    await server.close();
  }
  return table(rounds, `load ${spread(loads, 0)}`);
}

function table({ relay, bare, budget }: Record<Way, Measured[]>, load: string): Result[] {
  const rates = (all: readonly Measured[]) => all.map(({ ms }) => RUNS / (ms / 1_000));
  const cpu = (all: readonly Measured[]) => all.map(({ cpuMs }) => cpuMs / RUNS);
  const extra = relay.map(({ cpuMs }, round) => (cpuMs / (bare[round]?.cpuMs ?? Number.NaN) - 1) * 100);
  const note = `2 turns of a ${MODEL_MS} ms model over HTTP and one tool call a run; ${load}`;
  return [
    { what: `${RUNS} agent jobs at once, runs a second`, value: spread(rates(relay), 0), note },
    {
      what: "CPU of the node an agent run",
      value: `${spread(cpu(relay))} ms`,
      note: `with a budget: ${spread(cpu(budget))} ms, ${spread(rates(budget), 0)} runs a second`,
    },
    {
      what: `${RUNS} agent jobs at once, most memory`,
      value: `${spread(
        relay.map(({ rssMb }) => rssMb),
        0,
      )} MB`,
      note: `RSS; ${median(relay.map(({ startMb }) => startMb)).toFixed(0)} MB before they began, the SDK loaded`,
    },
    {
      what: "relay on against off",
      value: `${spread(extra)} %`,
      goal: "≤ 5 %",
      ok: median(extra) <= 5,
      note: "CPU of the node, in pairs",
    },
  ];
}

export const agentRuns: Benchmark = { name: "agent-runs", run: benchmark };
