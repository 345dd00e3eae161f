// Two hundred agent runs at once in one process, with a model that takes 50 ms a call: what the loop itself costs.
//
// No network and no ledger: the model is a timer, so what is above it is the loop's own work (context, events, redaction,
// tool calls, log lines). Each run talks for ten turns and calls a tool in nine of them.

import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod/mini";
import { defineTool } from "../src/agent/define-tool.ts";
import { type EventLine, lineOf } from "../src/agent/loop/event-lines.ts";
import { runLoop } from "../src/agent/loop/run-loop.ts";
import { estimateMessages } from "../src/agent/models/estimate-tokens.ts";
import { silentLog } from "../src/kernel/log.ts";
import { makeRedact } from "../src/kernel/redact.ts";
import type { CallModel, ModelReply } from "../src/records/model.ts";
import { type Benchmark, median, type Result, type Setup, spread } from "./measure.ts";

const RUNS = Number(process.env.BENCH_AGENT_RUNS ?? 200);
const TURNS = 10;
const MODEL_MS = 50;
/** Pieces of a streamed reply. */
const PIECES = 20;
const TEXT = "The build went through and two tests were skipped, as before. ";
const RESULT = { error: null, exitCode: 0, output: "line of a log, as programs write them\n".repeat(50) };
const KEYS = ["first-secret-of-the-bench", "second-secret-of-the-bench"];

const look = defineTool({
  name: "look",
  toolset: "bench",
  description: "Looks at a place.",
  schema: z.strictObject({ at: z.string() }),
  isParallelSafe: true,
  run: async () => RESULT,
});

/** Streams a text over `MODEL_MS`; calls the tool until the last turn. */
function model(): CallModel {
  let turn = 0;
  return async (_request, { signal, onChunk }): Promise<ModelReply> => {
    turn += 1;
    await pause(MODEL_MS, undefined, { signal });
    for (let piece = 0; piece < PIECES; piece++) onChunk?.({ kind: "text", text: TEXT });
    const isLast = turn === TURNS;
    return {
      text: TEXT.repeat(PIECES),
      reasoning: "",
      toolCalls: isLast ? [] : [{ id: `call-${turn}`, name: "look", arguments: '{"at":"the log"}' }],
      finish: isLast ? "stop" : "toolCalls",
      usage: { inputTokens: 0, outputTokens: 300, cachedInputTokens: 0, reasoningTokens: 0 },
      costUsd: 0.001,
      model: "bench",
    };
  };
}

async function oneRun(id: string, redact: ReturnType<typeof makeRedact>): Promise<EventLine[]> {
  const lines: EventLine[] = [];
  const end = await runLoop(
    {
      callModel: model(),
      tools: [look],
      clock: {
        monotonicMs: () => performance.now(),
        sleep: (ms, signal) => pause(ms, undefined, { signal }),
      },
      emit: (event) => {
        const line = lineOf(event);
        if (line) lines.push(line);
      },
      window: { contextLength: 128_000, estimate: estimateMessages },
      maxTurns: TURNS,
      redact,
      log: silentLog,
    },
    {
      model: "bench",
      messages: [
        { role: "system", text: "You watch a build." },
        { role: "user", text: "How is it?" },
      ],
    },
    {
      run: { id },
      signal: new AbortController().signal,
      abortReason: () => undefined,
      touch: () => {},
    },
  );
  if (end.reason !== "answered" || end.turns !== TURNS) throw new Error(`run ${id} ended: ${end.reason}`);
  return lines;
}

async function measure(): Promise<{ ms: number; cpuMs: number; grownMb: number }> {
  const redact = makeRedact(KEYS);
  const before = process.memoryUsage().rss;
  const cpu = process.cpuUsage();
  const began = performance.now();
  // The lines are held to the end, as a run's log that nobody has flushed.
  const logs = await Promise.all(Array.from({ length: RUNS }, (_, run) => oneRun(`run-${run}`, redact)));
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  const grownMb = (process.memoryUsage().rss - before) / 2 ** 20;
  if (logs.length !== RUNS) throw new Error("a run is missing");
  return { ms, cpuMs: (user + system) / 1_000, grownMb };
}

async function run({ repeats, say }: Setup): Promise<Result[]> {
  say(`${RUNS} runs of ${TURNS} turns …`);
  const rounds = [];
  for (let round = 0; round < repeats; round++) rounds.push(await measure());
  const turns = RUNS * TURNS;
  const note = `loop only, no network; ${TURNS} turns of a ${MODEL_MS} ms model, ${TURNS - 1} tool calls a run`;
  const rss = process.memoryUsage().rss / 2 ** 20;
  return [
    {
      what: `${RUNS} agent runs at once, turns a second`,
      value: spread(
        rounds.map(({ ms }) => turns / (ms / 1_000)),
        0,
      ),
      note: `${note}; at most ${(RUNS / (MODEL_MS / 1_000)).toFixed(0)} with no cost of our own`,
    },
    {
      what: "CPU a turn in the agent loop",
      value: `${spread(
        rounds.map(({ cpuMs }) => cpuMs / turns),
        3,
      )} ms`,
      goal: "≤ 2 ms",
      ok: median(rounds.map(({ cpuMs }) => cpuMs / turns)) <= 2,
      note,
    },
    {
      what: `${RUNS} agent runs at once, memory`,
      value: `${rss.toFixed(0)} MB RSS, grown by ${median(rounds.map(({ grownMb }) => grownMb)).toFixed(0)} MB in a round`,
      note: "every line of every conversation held to the end",
    },
  ];
}

export const agents: Benchmark = { name: "agents", run };
