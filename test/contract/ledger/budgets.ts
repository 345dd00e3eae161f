// Rules of budgets and of what model calls are counted into (S3).

import { expect, test } from "vitest";
import { projectCall } from "../../../src/agent/relay/project-call.ts";
import { DAY, HOUR } from "../../../src/kernel/time.ts";
import type { Reservation, Spending } from "../../../src/records/ledger/budgets.ts";
import type { Ledger } from "../../../src/records/ledger/index.ts";
import type { ModelCallRecord } from "../../../src/records/model.ts";
import { mergeModelCalls } from "../../../src/records/model-call-sums.ts";
import {
  type Bench,
  claimOne,
  fail,
  manualRun,
  passRequest,
  rowOf,
  START,
  startOne,
  succeed,
  whenFree,
} from "./fixtures.ts";

const ROOT = "root-1";

export function budgetRules(open: () => Promise<Bench>): void {
  spendingRules(open);
  keepingRules(open);
  countingRules(open);
}

function spendingRules(open: () => Promise<Bench>): void {
  test("S3: forty racers on two connections never reserve past the limit, and fill it to the last call", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    await a.openBudget(ROOT, { maxTokens: 1_050, maxMicroUsd: 1_000_000 });

    const race = Array.from({ length: 40 }, (_, n) =>
      whenFree(() => (n % 2 === 0 ? a : b).reserve(reservation({ tokens: 100 }))),
    );
    const answers = await Promise.all(race);

    expect(answers.filter(({ kind }) => kind === "reserved")).toHaveLength(10);
    expect(await b.budget(ROOT)).toMatchObject({ reservedTokens: 1_000, reservedMicroUsd: 5_000 });
  });

  test("S3: money is a limit of its own, and a refusal says what is left", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.openBudget(ROOT, { maxMicroUsd: 700 });
    expect(await ledger.reserve(reservation({ tokens: 9_999_999 }))).toEqual({ kind: "reserved" });
    expect(await ledger.reserve(reservation({ microUsd: 201 }))).toEqual({
      kind: "refused",
      budget: {
        ...{ rootId: ROOT, maxTokens: undefined, maxMicroUsd: 700 },
        spent: { inputTokens: 0, outputTokens: 0, microUsd: 0, calls: 0 },
        ...{ reservedTokens: 9_999_999, reservedMicroUsd: 500 },
      },
    });
    expect(await ledger.reserve(reservation({ microUsd: 200 }))).toEqual({ kind: "reserved" });
  });

  test("S3: settling gives the reservation back, counts what was spent, and what was spent beyond it too", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.openBudget(ROOT, { maxTokens: 150 });
    await ledger.reserve(reservation({ tokens: 100 }));
    await ledger.settle(reservation({ tokens: 100 }), spending({ inputTokens: 60, outputTokens: 80 }));

    expect(await ledger.budget(ROOT)).toMatchObject({
      spent: { inputTokens: 60, outputTokens: 80, microUsd: 300, calls: 1 },
      ...{ reservedTokens: 0, reservedMicroUsd: 0 },
    });
    expect((await ledger.reserve(reservation({ tokens: 11 }))).kind).toBe("refused");
    expect((await ledger.reserve(reservation({ tokens: 10 }))).kind).toBe("reserved");
  });

  test("S3: a settlement that is told twice makes no room that was never there", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.openBudget(ROOT, { maxTokens: 100 });
    await ledger.reserve(reservation({ tokens: 50 }));
    for (let times = 0; times < 2; times++)
      await ledger.settle(reservation({ tokens: 50 }), spending({ inputTokens: 10, outputTokens: 0 }));
    expect(await ledger.budget(ROOT)).toMatchObject({ spent: { inputTokens: 20 }, reservedTokens: 0 });
    expect((await ledger.reserve(reservation({ tokens: 81 }))).kind).toBe("refused");
  });

  test("S3: fractions of a cent count upwards, limits downwards", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.openBudget(ROOT, { maxMicroUsd: 10.9 });
    for (let times = 0; times < 5; times++) await ledger.reserve(reservation({ microUsd: 1.2 }));
    expect(await ledger.budget(ROOT)).toMatchObject({ maxMicroUsd: 10, reservedMicroUsd: 10 });
  });

  test("S3: limits of a budget that is open only ever shrink, and what was spent stays", async () => {
    const bench = await open();
    const ledger = await bench.open();
    expect(await ledger.budget(ROOT)).toBeUndefined();
    await ledger.openBudget(ROOT, { maxTokens: 100 });
    await ledger.reserve(reservation({ tokens: 30 }));
    const limits = [{ maxTokens: 200, maxMicroUsd: 900 }, { maxTokens: 80 }, { maxMicroUsd: 1_000 }, {}];
    const seen = [];
    for (const limit of limits) {
      const budget = await ledger.openBudget(ROOT, limit);
      seen.push([budget.maxTokens, budget.maxMicroUsd, budget.reservedTokens]);
    }
    expect(seen).toEqual([
      [100, 900, 30],
      [80, 900, 30],
      [80, 900, 30],
      [80, 900, 30],
    ]);
  });
}

function keepingRules(open: () => Promise<Bench>): void {
  test("S3: the reservation of an owner that died stays spent when another node takes the run over", async () => {
    const bench = await open();
    const [dead, heir] = [await bench.open(), await bench.open()];
    await dead.enqueue([manualRun(bench)]);
    const { run } = await startOne(dead, bench);
    await dead.openBudget(run.id, { maxTokens: 100 });
    await dead.reserve({ rootId: run.id, tokens: 70, microUsd: 0 });

    const takeOver = { nodeId: "node-b", now: bench.now(), leaseMs: 1_000, deadNodes: ["node-a"] };
    const { taken } = await heir.takeOver(takeOver);
    expect(taken.map(({ run: one }) => one.id)).toEqual([run.id]);
    expect((await heir.reserve({ rootId: run.id, tokens: 31, microUsd: 0 })).kind).toBe("refused");
    expect(await heir.budget(run.id)).toMatchObject({ reservedTokens: 70 });
  });

  test("L8: a budget goes with its root; runs without a job are kept as those of one job", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) {
      const run = manualRun(bench, { kind: "agent", input: `{"n":${n}}` });
      ids.push(run.id);
      await ledger.enqueue([run]);
      await ledger.openBudget(run.id, { maxTokens: n });
      // The oldest is still open.
      if (n > 0) await closeNewest(ledger, bench, run.id);
      await bench.advance(1);
    }

    const { prunedRuns } = await ledger.prune({ rootRunsPerJob: 2, eventsKept: 100, now: bench.now() });

    expect(prunedRuns).toBe(1);
    expect((await ledger.runs({})).map(({ id }) => ids.indexOf(id))).toEqual([3, 2, 0]);
    const budgets = await Promise.all(ids.map(async (id) => (await ledger.budget(id))?.maxTokens));
    expect(budgets).toEqual([0, undefined, 2, 3]);
  });

  test("L6: the work of a run without a job stays with it over a claim, a list and a further attempt", async () => {
    const bench = await open();
    const ledger = await bench.open();
    const input = JSON.stringify({ id: "agent", run: { agent: { prompt: "naïve 🙂" } } });
    await ledger.enqueue([manualRun(bench, { kind: "agent", input })]);
    const { claim, run, definition } = await startOne(ledger, bench);
    expect([run.input, definition]).toEqual([input, undefined]);
    const next = { id: bench.id(), readyAt: START, trigger: "retry", idempotencyKey: "same" } as const;
    await ledger.closeRuns([fail(bench, claim, { next })]);
    expect((await claimOne(ledger, bench)).run).toMatchObject({ id: next.id, input, kind: "agent" });
    expect((await ledger.runs({})).map((one) => one.input)).toEqual([input, input]);
  });
}

function countingRules(open: () => Promise<Bench>): void {
  test("S4: model calls of two nodes are added up by the hour and their few words", async () => {
    const bench = await open();
    const [a, b] = [await bench.open(), await bench.open()];
    const failed = call({ end: "failed", errorClass: "rateLimit", attempts: 4, firstTokenMs: undefined });
    await a.countModelCalls(summed([call(), call({ costUsd: undefined }), failed]));
    await b.countModelCalls(summed([failed, call({ startedAt: START + HOUR }), call()]));
    await a.countModelCalls([]);

    const sums = await b.modelCallSums({ since: START });

    const words = { hour: START, model: "fast", provider: "ollama", role: "primary" };
    expect(sums).toMatchObject([
      {
        ...{ ...words, end: "done", errorClass: undefined, calls: 3, attempts: 3, totalMs: 900 },
        ...{ inputTokens: 300, outputTokens: 30, cachedInputTokens: 120, microUsd: 140_000 },
        ...{ unpricedCalls: 1, firstTokenMs: 60, firstTokens: 3 },
      },
      { ...words, end: "failed", errorClass: "rateLimit", calls: 2, attempts: 8, firstTokens: 0 },
      { hour: START + HOUR, calls: 1 },
    ]);
    expect(await b.modelCallSums({ since: START + 1 })).toHaveLength(1);
  });

  test("L8: sums of model calls are kept for 400 days", async () => {
    const bench = await open();
    const ledger = await bench.open();
    await ledger.countModelCalls(
      summed([call({ startedAt: START - 401 * DAY }), call({ startedAt: START - 399 * DAY })]),
    );
    await ledger.prune({ rootRunsPerJob: 2, eventsKept: 10, now: bench.now() });
    expect((await ledger.modelCallSums({ since: 0 })).map(({ hour }) => hour)).toEqual([START - 399 * DAY]);
  });
}

function reservation(parts: Partial<Reservation> = {}): Reservation {
  return { rootId: ROOT, tokens: 0, microUsd: 500, ...parts };
}

function spending(parts: Partial<Spending> = {}): Spending {
  return { inputTokens: 0, outputTokens: 0, microUsd: 300, calls: 1, ...parts };
}

function call(parts: Partial<ModelCallRecord> = {}): ModelCallRecord {
  return {
    ...{ id: "call", runId: "run", rootId: "run", role: "primary", model: "fast", provider: "ollama" },
    ...{ isStreaming: true, startedAt: START + 1_234, attempts: 1, firstTokenMs: 20, durationMs: 300 },
    end: "done",
    usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40, reasoningTokens: 0 },
    costUsd: 0.07,
    errorClass: undefined,
    ...parts,
  };
}

async function closeNewest(ledger: Ledger, bench: Bench, runId: string): Promise<void> {
  const { claimed } = await ledger.pass(passRequest(bench, { capacity: 100 }));
  const one = claimed.find(({ run }) => run.id === runId);
  if (!one) throw new Error(`run ${runId} was not claimed`);
  await ledger.closeRuns([succeed(bench, one.claim)]);
  expect((await rowOf(ledger, runId)).state).toBe("succeeded");
}

function summed(records: readonly ModelCallRecord[]) {
  return mergeModelCalls(records.map((record) => projectCall(record, ["fast"])));
}
