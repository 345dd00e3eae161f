// Inserting runs: every row that enters the ledger passes through here.

import type { Run } from "../../records/run.ts";
import { columnList, decodeRun, RUN } from "./codecs.ts";
import type { ColumnKind, Columns } from "./columns.ts";
import type { Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";

type RequiredParts = Pick<
  Run,
  | "id"
  | "dedupeKey"
  | "kind"
  | "rootId"
  | "trigger"
  | "state"
  | "effects"
  | "idempotencyKey"
  | "readyAt"
  | "createdAt"
>;

/** A run as it is born; what is not given is absent, 0 or false. */
export type RunRow = RequiredParts & { [Name in keyof Run]?: Run[Name] | undefined };

const DEFAULTS = { attempt: 1, slotCount: 1, token: 0 };

/** The run that a row is, once it is in. */
export function bornRun(row: RunRow): Run {
  return { ...decodeRun({}), ...DEFAULTS, ...row } as Run;
}

/** Inserts what is not there yet (by dedupeKey and attempt). Returns the ids that are new. */
export async function insertRuns(
  tx: Statements & { dialect: Dialect },
  runs: readonly RunRow[],
): Promise<ReadonlySet<string>> {
  if (runs.length === 0) return new Set();
  const { sql, param } = insertion(tx.dialect, runs);
  const inserted = await tx.all(sql, [param]);
  return new Set(inserted.map((row) => String(row.id)));
}

/** The statement of `insertRuns` and its one parameter. */
export function insertion(dialect: Dialect, runs: readonly RunRow[]): { sql: string; param: string } {
  // Only the columns that this batch fills: a queued run leaves half of them empty, and each costs as much.
  const rows: RunRow[] = runs.map((run) => ({ ...DEFAULTS, ...run, rank: rankOf(run) }));
  const used = Object.entries<ColumnKind>({ ...RUN, rank: "int" }).filter(([name]) =>
    rows.some((row) => Reflect.get(row, name) !== undefined),
  );
  const columns: Columns = Object.fromEntries(used);
  const names = used.map(([name]) => `"${name}"`).join(", ");
  const sql = `INSERT INTO "runs" (${names}) SELECT ${columnList(columns, "x")} FROM ${dialect.rows("x", columns)} WHERE true ON CONFLICT DO NOTHING RETURNING "id"`;
  return { sql, param: dialect.encodeRows(columns, rows) };
}

/** @source SEMANTICS W4, docs/workflows.md: each minute of waiting is one step of priority. */
const AGING_MS = 60_000;

/** Waiting and priority in one number that never changes: the greater, the sooner. */
function rankOf({ queue, admission, createdAt }: RunRow): number | undefined {
  if (queue === undefined) return undefined;
  return Math.round((admission?.priority ?? 0) * AGING_MS) - (admission?.enqueuedAt ?? createdAt);
}
