// Group commit: who shares a flush, and what each learns of it.

import { expect, test } from "vitest";
import { makeBatch } from "../../src/kernel/batch.ts";
import { gate } from "../deliver/outbox-ledger.ts";

/** As the outbox gathers: what comes in one turn of the event loop goes together. */
const gather = () => new Promise<void>((resolve) => setImmediate(resolve));

test("what ends together is written together, what ends meanwhile goes with the next, and each learns its own answer", async () => {
  const batches: string[][] = [];
  const [started, first] = [gate(), gate()];
  const close = makeBatch<string, string>(
    async (items) => {
      batches.push(items);
      started.open();
      if (batches.length === 1) await first.opened;
      return items.map((item) => `${item}!`);
    },
    { gather },
  );

  const together = ["a", "b"].map(close);
  await started.opened;
  const next = ["c", "d"].map(close);
  first.open();

  expect(await Promise.all([...together, ...next])).toEqual(["a!", "b!", "c!", "d!"]);
  expect(batches).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
});

test("a store that fails fails those who were in it, and nobody after them", async () => {
  let isBroken = true;
  const close = makeBatch<string, string>(async (items) => {
    if (isBroken) throw new Error("disk full");
    return items;
  });

  await expect(close("a")).rejects.toThrow("disk full");
  isBroken = false;
  expect(await close("a")).toBe("a");
});
