// Sums of model calls by the hour: added to in one statement, so that several nodes count into the same rows.

import type { Instant } from "../../kernel/time.ts";
import { DAY } from "../../kernel/time.ts";
import type { ModelCallSum } from "../../records/ledger/model-calls.ts";
import { mergeModelCalls } from "../../records/model-call-sums.ts";
import { columnList, decode } from "./codecs.ts";
import type { ColumnKind, Columns } from "./columns.ts";
import type { Statements } from "./connection.ts";
import type { Store } from "./store.ts";

/** A year and a month: this December beside the last. */
const KEPT_MS = 400 * DAY;

const KEY = {
  hour: "int",
  model: "text",
  provider: "text",
  role: "text",
  end: "text",
  errorClass: "text",
} as const;

const COUNTS = {
  calls: "int",
  attempts: "int",
  inputTokens: "int",
  outputTokens: "int",
  cachedInputTokens: "int",
  microUsd: "int",
  unpricedCalls: "int",
  totalMs: "int",
  firstTokenMs: "int",
  firstTokens: "int",
} as const;

const SUM = { ...KEY, ...COUNTS } as const satisfies Record<keyof ModelCallSum, ColumnKind>;

/** A key column cannot be NULL. */
const NO_ERROR = "";

export async function countModelCalls(store: Store, sums: readonly ModelCallSum[]): Promise<void> {
  if (sums.length === 0) return;
  const { dialect, connection } = store;
  const names = (columns: Columns) => Object.keys(columns).map((name) => `"${name}"`);
  const added = names(COUNTS).map((name) => `${name} = "modelCallSums".${name} + excluded.${name}`);
  // In order of their keys, so that two nodes lock the same rows in the same order.
  const order = names(KEY).map((name) => `x.${name}`);
  const rows = mergeModelCalls(sums).map((sum) => ({ ...sum, errorClass: sum.errorClass ?? NO_ERROR }));
  await connection.run(
    `INSERT INTO "modelCallSums" (${names(SUM).join(", ")}) SELECT ${columnList(SUM, "x")} FROM ${dialect.rows("x", SUM)} WHERE true ORDER BY ${order.join(", ")}
     ON CONFLICT (${names(KEY).join(", ")}) DO UPDATE SET ${added.join(", ")}`,
    [dialect.encodeRows(SUM, rows)],
  );
}

export async function modelCallSums(
  store: Store,
  { since }: { since: Instant },
): Promise<readonly ModelCallSum[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(SUM, "s")} FROM "modelCallSums" AS s WHERE s."hour" >= ? ORDER BY s."hour", s."model", s."provider", s."role", s."end", s."errorClass"`,
    [since],
  );
  return rows.map((row) =>
    decode<ModelCallSum>(SUM, { ...row, errorClass: row.errorClass === NO_ERROR ? null : row.errorClass }),
  );
}

/** Retention of the sums. */
export async function pruneModelCalls(statements: Pick<Statements, "run">, now: Instant): Promise<void> {
  await statements.run(`DELETE FROM "modelCallSums" WHERE "hour" < ?`, [now - KEPT_MS]);
}
