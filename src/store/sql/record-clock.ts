// When anything was last recorded, by the wall clock of that moment (T8): an instant that lies ahead of now says that the
// clock was set back, also to a process that did not see it happen.
//
// I1. A rewind takes its own evidence back: a step is noticed once.

import type { Instant } from "../../kernel/time.ts";
import type { Statements } from "./connection.ts";
import type { Store, Transaction } from "./store.ts";

/** SQL expressions: the newest pass of any node, the newest change of any job. */
const NEWEST_PASS = `(SELECT max("lastPassAt") FROM "nodes")`;
export const NEWEST_CHANGE = `(SELECT "newestAt" FROM "changeClock")`;

export async function newestRecordAt(store: Store): Promise<Instant | undefined> {
  const row = await store.connection.get(`SELECT ${NEWEST_PASS} AS "pass", ${NEWEST_CHANGE} AS "change"`);
  return newest(row?.pass, row?.change);
}

export function newest(...values: readonly unknown[]): Instant | undefined {
  const instants = values.filter((value) => typeof value === "number");
  return instants.length === 0 ? undefined : Math.max(...instants);
}

/** A change of a job was recorded at `now`. Comes last in its transaction: the row is one for all jobs. */
export async function noteChange(tx: Statements, now: Instant): Promise<void> {
  await tx.run(
    `INSERT INTO "changeClock" ("id", "newestAt") VALUES (1, ?) ON CONFLICT ("id") DO UPDATE SET "newestAt" = excluded."newestAt" WHERE excluded."newestAt" > "changeClock"."newestAt"`,
    [now],
  );
}

/** (I1) */
export async function redateEvidence(tx: Transaction, now: Instant): Promise<void> {
  await tx.run(`UPDATE "changeClock" SET "newestAt" = ? WHERE "newestAt" > ?`, [now, now]);
  await tx.run(`UPDATE "nodes" SET "lastPassAt" = ? WHERE "lastPassAt" > ?`, [now, now]);
}
