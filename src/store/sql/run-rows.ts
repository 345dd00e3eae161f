// Inserting runs: every row that enters the ledger passes through here.

import type { Run } from "../../records/run.ts";
import { encodeRows, RUN } from "./codecs.ts";
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

/** Inserts what is not there yet (by dedupeKey and attempt). Returns the ids that are new. */
export async function insertRuns(
  tx: Statements & { dialect: Dialect },
  runs: readonly RunRow[],
): Promise<ReadonlySet<string>> {
  if (runs.length === 0) return new Set();
  const names = Object.keys(RUN);
  const columns = names.map((name) => `"${name}"`).join(", ");
  const values = names.map((name) => `x."${name}"`).join(", ");
  const inserted = await tx.all(
    `INSERT INTO "runs" (${columns}) SELECT ${values} FROM ${tx.dialect.rows("x", RUN)} WHERE true ON CONFLICT DO NOTHING RETURNING "id"`,
    [
      encodeRows(
        RUN,
        runs.map((run) => ({ ...DEFAULTS, ...run })),
      ),
    ],
  );
  return new Set(inserted.map((row) => String(row.id)));
}
