import { expect, test } from "vitest";
import { closeTogether } from "../../src/deliver/close-together.ts";
import type { DeliveryClosing } from "../../src/records/ledger/outbox.ts";
import { START } from "./fixtures.ts";
import { gate } from "./outbox-ledger.ts";

const closing = (id: string): DeliveryClosing => ({
  ...{ id, token: 1, owner: "node-1" },
  ...{ kind: "delivered", receipt: { at: START }, finishedAt: START },
});

test("what ends together is written together, what ends meanwhile goes with the next, and each learns its own answer", async () => {
  const batches: string[][] = [];
  const [started, first] = [gate(), gate()];
  const close = closeTogether(async (closings) => {
    batches.push(closings.map(({ id }) => id));
    started.open();
    if (batches.length === 1) await first.opened;
    return closings.map(({ id }) => (id === "c" ? "lost" : "closed"));
  });

  const together = ["a", "b"].map((id) => close(closing(id)));
  await started.opened;
  const next = ["c", "d"].map((id) => close(closing(id)));
  first.open();

  expect(await Promise.all([...together, ...next])).toEqual(["closed", "closed", "lost", "closed"]);
  expect(batches).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
});

test("a store that fails fails those who were in it, and nobody after them", async () => {
  let isBroken = true;
  const close = closeTogether(async (closings) => {
    if (isBroken) throw new Error("disk full");
    return closings.map(() => "closed");
  });

  await expect(close(closing("a"))).rejects.toThrow("disk full");
  isBroken = false;
  expect(await close(closing("a"))).toBe("closed");
});
