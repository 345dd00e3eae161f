// What a model call costs beside the model: our port and relay over the bare AI SDK, against a scripted model on loopback.
//
// The three ways take turns call by call, so that a busy moment of the machine meets all of them. Scripted model and caller
// share the process: what is compared is the difference.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { chooseModels } from "../src/agent/models/choose-model.ts";
import { makeModelPort } from "../src/agent/models/model-port.ts";
import { makeRelay } from "../src/agent/relay/relay.ts";
import { silentLog } from "../src/kernel/log.ts";
import type { CallModel, ModelCallRecord } from "../src/records/model.ts";
import { modelsOf } from "../src/records/models-config.ts";
import { say, startModelServer } from "../test/support/model-server.ts";
import { type Benchmark, quantile, type Result, type Setup, spread } from "./measure.ts";

const CALLS = Number(process.env.BENCH_MODEL_CALLS ?? 240);
const WARM_UP = 50;
/** A few percent drown in what else a machine does: they are told from processor time, in so many blocks. */
const CPU_BLOCKS = 12;
/** An answer of ordinary length for a turn that calls nothing. */
const PIECES = Array.from({ length: 20 }, (_, index) => `word number ${index} `);
const SYSTEM = "You answer in one line. ".repeat(100);

type Way = () => Promise<unknown>;

/** Milliseconds of each call, by way. */
async function takeTurns(ways: Record<string, Way>): Promise<Record<string, number[]>> {
  const names = Object.keys(ways);
  const orders = permutations(names);
  const times = Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  for (let call = -WARM_UP; call < CALLS; call++) {
    // Whoever comes next pays for what the one before has left: every order has its turn.
    for (const name of orders[(call + WARM_UP) % orders.length] ?? []) {
      const began = performance.now();
      await ways[name]?.();
      if (call >= 0) times[name]?.push(performance.now() - began);
    }
  }
  return times;
}

function permutations(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]];
  return names.flatMap((first) =>
    permutations(names.filter((name) => name !== first)).map((rest) => [first, ...rest]),
  );
}

function portFor(baseUrl: string, stream: boolean): CallModel {
  const named = { main: { provider: "openai-compatible" as const, id: "m", baseUrl, stream } };
  const chain = chooseModels({ models: modelsOf({ named }), variable: () => undefined });
  const clock = {
    now: () => Date.now(),
    sleep: () => Promise.reject(new Error("nothing is waited for here")),
  };
  const random = (bytes: number) => new Uint8Array(bytes);
  return makeModelPort({ primary: chain, auxiliary: chain, fetch, clock, random, log: silentLog });
}

/** A relay whose records are kept, as the run's log keeps them. */
function watched(port: CallModel): CallModel {
  const records: ModelCallRecord[] = [];
  return makeRelay(port, {
    runId: "run",
    rootId: "run",
    clock: {
      now: () => Date.now(),
      monotonicMs: () => performance.now(),
      sleep: () => Promise.reject(new Error("nothing is waited for here")),
    },
    newId: () => String(records.length),
    sink: (record) => void records.push(record),
    report: (error) => {
      throw error;
    },
  }).call;
}

function waysFor(baseUrl: string, stream: boolean): Record<"bare" | "port" | "relay", Way> {
  const model = createOpenAICompatible({ name: "bare", baseURL: baseUrl, includeUsage: true })("m");
  const bare = { model, system: SYSTEM, prompt: "Go on.", maxRetries: 0 };
  const ask = (call: CallModel): Way => {
    const messages = [
      { role: "system" as const, text: SYSTEM },
      { role: "user" as const, text: "Go on." },
    ];
    const { signal } = new AbortController();
    return () => call({ messages, tools: [] }, { role: "primary", signal, ...(stream && { onChunk() {} }) });
  };
  const port = portFor(baseUrl, stream);
  return {
    bare: stream ? async () => await streamText(bare).text : () => generateText(bare),
    port: ask(port),
    relay: ask(watched(port)),
  };
}

async function run({ repeats, say: tell }: Setup): Promise<Result[]> {
  const server = await startModelServer(() => say(PIECES), { closesWithTest: false });
  try {
    const results: Result[] = [];
    for (const stream of [true, false]) {
      tell(stream ? "streams …" : "whole answers …");
      results.push(...(await compare(server.baseUrl, stream, repeats)));
    }
    return results;
  } finally {
    await server.close();
  }
}

async function compare(baseUrl: string, stream: boolean, repeats: number): Promise<Result[]> {
  const bare: number[] = [];
  const over: number[] = [];
  const ratio: number[] = [];
  for (let round = 0; round < repeats; round++) {
    const ways = waysFor(baseUrl, stream);
    const times = await takeTurns(ways);
    const p50 = (name: string) => quantile(times[name] ?? [], 0.5);
    bare.push(p50("bare"));
    over.push(typicalGap(times, "relay", "bare"));
    ratio.push(await moreCpu(ways.relay, ways.port));
  }
  const what = stream ? "model call, streamed" : "model call, whole";
  const name = stream ? "streamText" : "generateText";
  return [
    {
      what: `${what}: port and relay over the bare AI SDK, p50`,
      value: `${spread(over, 2)} ms`,
      goal: "≤ 2 ms",
      ok: quantile(over, 0.5) <= 2,
      note: `\`${name}\` itself: ${spread(bare, 2)} ms; ${CALLS} calls in turn, ${PIECES.length} pieces, loopback`,
    },
    {
      what: `${what}: relay on against off, processor time`,
      value: `${spread(ratio, 1)} %`,
      goal: "≤ 5 %",
      ok: quantile(ratio, 0.5) <= 5,
    },
  ];
}

/** Median of the differences within each turn: what the machine does meanwhile meets both. */
function typicalGap(times: Record<string, number[]>, more: string, less: string): number {
  const base = times[less] ?? [];
  return quantile(
    (times[more] ?? []).map((ms, index) => ms - (base[index] ?? ms)),
    0.5,
  );
}

/** How much more processor time, in percent, `more` takes than `less`: blocks in turn, medians of the blocks. */
async function moreCpu(more: Way, less: Way): Promise<number> {
  const spent = { more: [] as number[], less: [] as number[] };
  for (let block = 0; block < CPU_BLOCKS; block++)
    for (const name of block % 2 === 0 ? (["more", "less"] as const) : (["less", "more"] as const)) {
      const before = process.cpuUsage();
      for (let call = 0; call < CALLS / CPU_BLOCKS; call++) await (name === "more" ? more : less)();
      const { user, system } = process.cpuUsage(before);
      spent[name].push(user + system);
    }
  return (quantile(spent.more, 0.5) / quantile(spent.less, 0.5) - 1) * 100;
}

export const models: Benchmark = { name: "models", run };
