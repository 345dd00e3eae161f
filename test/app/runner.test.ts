import { describe, expect, onTestFinished, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { startNode, tickOnce } from "../../src/app/node.ts";
import { showRun } from "../../src/app/runs.ts";
import { waitForChange } from "../../src/app/wait-for-change.ts";
import { Fault } from "../../src/kernel/errors.ts";
import type { Closing } from "../../src/records/ledger/claims.ts";
import type { RunContext } from "../../src/records/run-context.ts";
import { testContext } from "../support/home.ts";

/** The real ledger, whose `closeRuns` meets trouble first: a busy database, or a row that it refuses for good. */
function troubled(context: Context, trouble: (closings: readonly Closing[]) => void): Context {
  const { ledger } = context;
  return {
    ...context,
    ledger: {
      ...ledger,
      closeRuns: (closings) => {
        trouble(closings);
        return ledger.closeRuns(closings);
      },
    },
  };
}

async function jobs(...ids: string[]): Promise<Context> {
  const context = await testContext({ executors: { say: ({ params }) => params.text } });
  for (const id of ids) {
    await addJob(context, { id, run: { task: { executor: "say", params: { text: `from ${id}` } } } });
  }
  return context;
}

describe("closing a run", () => {
  test("L11: an outcome waits in memory while the database is busy, and is written once it is not", async () => {
    const context = await jobs("a");
    let tries = 0;
    const busy = troubled(context, () => {
      tries += 1;
      if (tries <= 3) throw new Fault("store.busy", "busy", { hint: "Wait.", retry: "later" });
    });
    const queued = await queueRun(context, "a");

    await tickOnce({ context: busy });

    expect(tries).toBe(4);
    expect(await showRun(context, queued.id)).toMatchObject({
      state: "succeeded",
      outcome: { output: "from a" },
    });
  });

  test("a row that the store refuses for good harms no other, and does not run for ever (openclaw#142638)", async () => {
    const context = await jobs("good", "bad");
    const bad = await queueRun(context, "bad");
    const good = await queueRun(context, "good");
    const refusing = troubled(context, (closings) => {
      const isRefused = closings.some(({ claim, state }) => claim.runId === bad.id && state === "succeeded");
      if (isRefused) throw new Error("a value the database cannot hold");
    });

    await tickOnce({ context: refusing });

    expect(await showRun(context, good.id)).toMatchObject({ state: "succeeded" });
    expect(await showRun(context, bad.id)).toMatchObject({
      state: "unknown",
      reason: expect.stringContaining("could not be stored"),
      deliveries: [{ kind: "alert" }],
    });
  });

  test.each<[string, boolean, string]>([
    ["heeds its signal", true, "cancelled"],
    ["ignores it: nobody can end it, so its end is unknown (law 4)", false, "unknown"],
  ])("L13: a node stops although a function still runs, one that %s", async (_title, heeds, state) => {
    const hang = ({ ctx }: { ctx: RunContext }) => (heeds ? rejectOn(ctx.signal) : new Promise(() => {}));
    const context = await testContext({ executors: { hang } });
    await addJob(context, { id: "hang", run: { task: { executor: "hang" } }, timeout: { total: 0 } });
    const begun = await queueRun(context, "hang");
    const node = await startNode({ context });
    onTestFinished(() => node.stop({ graceMs: 0 }));
    const signal = AbortSignal.timeout(10_000);
    while ((await showRun(context, begun.id)).state !== "running") {
      signal.throwIfAborted();
      await waitForChange(context, { atMostMs: 20, signal });
    }

    await node.stop({ graceMs: 0, hurry: AbortSignal.abort() });

    expect(await showRun(context, begun.id)).toMatchObject({ state });
  });
});

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
