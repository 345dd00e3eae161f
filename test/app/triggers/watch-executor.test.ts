// on: {watch: EXECUTOR, every: …}: asked again and again, each thing that it tells of is one event.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startNode } from "../../../src/app/node.ts";
import { openContext } from "../../../src/app/open-context.ts";
import { eventsIn } from "../../../src/app/triggers/watch-executor.ts";
import { addJob } from "../../../src/index.ts";
import { BARE_ENV, writeScript } from "../../support/home.ts";
import { tempFolder } from "../../support/temp.ts";
import { type TriggerHome, triggerHome } from "./home.ts";

/** An executor that answers with what a file holds, and notes that it was asked. */
async function asking() {
  const folder = await tempFolder();
  const path = join(folder, "home");
  await mkdir(path, { mode: 0o700 });
  const [answer, asked] = [join(folder, "answer.json"), join(folder, "asked")];
  await writeFile(answer, "[]");
  await writeFile(
    join(path, "config.yaml"),
    `executors: {stock: {script: stock.sh, effects: none, retry: 0}}\n`,
  );
  const home = await triggerHome({ path });
  await writeScript(home.context, "stock.sh", `#!/bin/sh\necho >>${asked}; cat ${answer}\n`);
  return {
    home,
    answers: (value: unknown) => writeFile(answer, JSON.stringify(value)),
    timesAsked: async () => (await readFile(asked, "utf8")).length,
  };
}

const polls = async ({ context }: TriggerHome) =>
  (await context.ledger.runs({ limit: 100 })).filter(({ dedupeKey }) => dedupeKey.startsWith("watch/"));

test("each item of an answer is one event by its key, however often it is told; an empty answer is none", async () => {
  const { home, answers, timesAsked } = await asking();
  await home.job("order", { watch: "stock", every: "1s" });
  await home.node();
  await answers([
    { key: "A1", left: 2 },
    { key: "B7", left: 0 },
  ]);
  const told = await home.told("order", 2);
  expect(told.map(({ key, data }) => [key, (data as { left: number }).left]).sort()).toEqual([
    ["watch/stock/A1", 2],
    ["watch/stock/B7", 0],
  ]);

  // Told again with the same keys, and beside them something new: only that is an event.
  await answers([
    { key: "A1", left: 2 },
    { key: "C3", left: 1 },
  ]);
  expect((await home.told("order", 3)).at(-1)?.key).toBe("watch/stock/C3");

  const asked = await polls(home);
  expect(await timesAsked()).toBeGreaterThanOrEqual(
    asked.filter(({ state }) => state === "succeeded").length,
  );
  expect(new Set(asked.map(({ dedupeKey }) => dedupeKey)).size).toBe(asked.length);
  expect(asked[0]).toMatchObject({ kind: "task", trigger: "schedule", jobId: undefined });
}, 60_000);

test("two nodes ask once an interval; an answer whose node died before it told of it is told by the next", async () => {
  const { home, answers } = await asking();
  const { context } = home;
  await home.job("order", { watch: "stock", every: "1h" });
  await answers([{ key: "A1" }]);
  const first = await home.node();
  await home.told("order", 1);
  await first.stop({ graceMs: 0 });

  // What a crash leaves: an answer in the ledger, and no event of it; here a job that did not listen then.
  await addJob(context, {
    ...{ id: "late", on: [{ watch: "stock", every: "1h" }], run: { script: "told.sh" }, deliver: [] },
  });
  const second = await openContext({
    ...{ path: context.home.paths.root, storeUrl: undefined, actor: "test", isDebug: false },
    ...{ env: BARE_ENV, version: "0.0.0-test" },
  });
  const nodes = [await startNode({ context }), await startNode({ context: second })];
  try {
    await answers([{ key: "B2" }]);
    expect(await home.told("order", 1)).toMatchObject([{ key: "watch/stock/A1" }]);
    expect(await polls(home)).toHaveLength(1);
  } finally {
    await Promise.all(nodes.map((node) => node.stop({ graceMs: 0 })));
    await second.close();
  }
});

test("law 8: an executor that does not exist, an interval that is none, and params that do not fit are refused", async () => {
  const { home } = await asking();
  const job = (on: object) =>
    addJob(home.context, { id: "x", on: [on as never], run: { script: "told.sh" }, deliver: [] });
  await expect(job({ watch: "stoke", every: "1m" })).rejects.toMatchObject({
    message: expect.stringContaining("stoke"),
  });
  await expect(job({ watch: "stock", every: "soon" })).rejects.toThrow(/is not a duration/);
  await expect(job({ watch: "stock", every: "10ms" })).rejects.toThrow(/too often/);
  await expect(job({ watch: "stock" })).rejects.toMatchObject({ code: "job.invalid" });
});

test("an answer tells of its items, or of itself; without a key it is known by its content", () => {
  expect([undefined, null, false, []].map(eventsIn)).toEqual([[], [], [], []]);
  expect(eventsIn({ key: 7, a: 1 })).toEqual([{ key: "7", data: '{"key":7,"a":1}' }]);
  const [one, same, other] = [eventsIn({ a: 1 }), eventsIn([{ a: 1 }]), eventsIn({ a: 2 })];
  expect(one).toEqual(same);
  expect(one[0]?.key).not.toBe(other[0]?.key);
  expect(eventsIn("warm")).toMatchObject([{ data: '"warm"' }]);
});
