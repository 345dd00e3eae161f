// The lines of a live run on their way to the store.

import { expect, test } from "vitest";
import type { ProgramExecutors } from "../../src/app/executors/registry.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { runEvents } from "../../src/app/runs.ts";
import type { NewRunEvent } from "../../src/records/run.ts";
import { testContext } from "../support/home.ts";

/** A promise that a test keeps by hand. */
function signal(): { promise: Promise<void>; resolve(): void } {
  let resolve = () => {};
  const promise = new Promise<void>((keep) => {
    resolve = keep;
  });
  return { promise, resolve: () => resolve() };
}

test("a line that came while others were refused is written with them at once, not with a later one", async () => {
  const writes = { begun: signal(), done: signal() };
  const refused = signal();
  const executors: ProgramExecutors = {
    talk: async ({ ctx }) => {
      ctx.emit("stdout", { text: "one" });
      await writes.begun.promise;
      ctx.emit("stdout", { text: "two" });
      ctx.emit("stdout", { text: "three" });
      refused.resolve();
      // Were they to wait for a further line or for the end, this would never end.
      await writes.done.promise;
      return "said";
    },
  };
  const context = await testContext({ executors });
  const { ledger } = context;
  let tries = 0;
  const appendEvents = async (events: readonly NewRunEvent[]) => {
    tries += 1;
    if (tries === 1) {
      writes.begun.resolve();
      await refused.promise;
      throw new Error("the database is locked");
    }
    await ledger.appendEvents(events);
    writes.done.resolve();
  };
  await addJob(context, { id: "talker", run: { task: { executor: "talk" } } });
  const { id } = await queueRun(context, "talker");

  await tickOnce({ context: { ...context, ledger: { ...ledger, appendEvents } } });

  const events = await runEvents(context, id);
  const said = events.filter(({ kind }) => kind === "stdout").map(({ data }) => data.text);
  expect(said).toEqual(["one", "two", "three"]);
});
