// What trees may spend and have spent (S3).
//
// I1. A reservation is one statement that only matches while there is room: racers of any process never pass a limit.
// I2. Nothing here ends a reservation but its settlement: one of a dead owner stays spent.

import { invariant } from "../../kernel/errors.ts";
import type { Budget, Reservation, ReserveAnswer, Spending } from "../../records/ledger/budgets.ts";
import type { Row } from "./connection.ts";
import type { Store } from "./store.ts";

/** The smaller of two limits, where NULL is none: SQLite's `min` and PostgreSQL's `LEAST` disagree on NULL. */
const shrink = (limit: string) =>
  `"${limit}" = CASE WHEN excluded."${limit}" < COALESCE("budgets"."${limit}", excluded."${limit}" + 1) THEN excluded."${limit}" ELSE "budgets"."${limit}" END`;

export async function openBudget(
  store: Store,
  rootId: string,
  limits: { maxTokens?: number | undefined; maxMicroUsd?: number | undefined },
): Promise<Budget> {
  const { maxTokens, maxMicroUsd } = limits;
  const row = await store.connection.get(
    `INSERT INTO "budgets" ("rootId", "maxTokens", "maxMicroUsd") VALUES (?, ?, ?)
     ON CONFLICT ("rootId") DO UPDATE SET ${shrink("maxTokens")}, ${shrink("maxMicroUsd")} RETURNING *`,
    [rootId, wholeOrNull(maxTokens), wholeOrNull(maxMicroUsd)],
  );
  invariant(row, "an upsert returns its row");
  return decodeBudget(row);
}

/** Limits round down, amounts up. */
function wholeOrNull(limit: number | undefined): number | null {
  return limit === undefined ? null : Math.floor(limit);
}

/** (I1) Throws where nobody opened the root's budget: that is a bug. */
export async function reserve(
  store: Store,
  { rootId, tokens, microUsd }: Reservation,
): Promise<ReserveAnswer> {
  const amounts = [Math.ceil(tokens), Math.ceil(microUsd)] as const;
  const changed = await store.connection.run(
    `UPDATE "budgets" SET "reservedTokens" = "reservedTokens" + ?, "reservedMicroUsd" = "reservedMicroUsd" + ?
     WHERE "rootId" = ? AND ("maxTokens" IS NULL OR "inputTokens" + "outputTokens" + "reservedTokens" + ? <= "maxTokens")
       AND ("maxMicroUsd" IS NULL OR "microUsd" + "reservedMicroUsd" + ? <= "maxMicroUsd")`,
    [...amounts, rootId, ...amounts],
  );
  if (changed === 1) return { kind: "reserved" };
  const found = await budget(store, rootId);
  invariant(found, `the budget of ${rootId} was opened before anything was reserved`);
  return { kind: "refused", budget: found };
}

export async function settle(
  store: Store,
  { rootId, tokens, microUsd }: Reservation,
  spent: Spending,
): Promise<void> {
  await store.connection.run(
    `UPDATE "budgets" SET "reservedTokens" = ${less("reservedTokens")}, "reservedMicroUsd" = ${less("reservedMicroUsd")},
       "inputTokens" = "inputTokens" + ?, "outputTokens" = "outputTokens" + ?, "microUsd" = "microUsd" + ?, "calls" = "calls" + ?
     WHERE "rootId" = ?`,
    [
      ...twice(Math.ceil(tokens)),
      ...twice(Math.ceil(microUsd)),
      Math.ceil(spent.inputTokens),
      Math.ceil(spent.outputTokens),
      Math.ceil(spent.microUsd),
      spent.calls,
      rootId,
    ],
  );
}

/** Never below nothing: a settlement that is told twice must not make room that was never there. */
const less = (column: string) => `CASE WHEN "${column}" > ? THEN "${column}" - ? ELSE 0 END`;

function twice(value: number): [number, number] {
  return [value, value];
}

export async function budget(store: Store, rootId: string): Promise<Budget | undefined> {
  const row = await store.connection.get(`SELECT * FROM "budgets" WHERE "rootId" = ?`, [rootId]);
  return row && decodeBudget(row);
}

function decodeBudget(row: Row): Budget {
  const limit = (value: unknown) => (value === null ? undefined : Number(value));
  return {
    rootId: String(row.rootId),
    maxTokens: limit(row.maxTokens),
    maxMicroUsd: limit(row.maxMicroUsd),
    spent: {
      inputTokens: Number(row.inputTokens),
      outputTokens: Number(row.outputTokens),
      microUsd: Number(row.microUsd),
      calls: Number(row.calls),
    },
    reservedTokens: Number(row.reservedTokens),
    reservedMicroUsd: Number(row.reservedMicroUsd),
  };
}
