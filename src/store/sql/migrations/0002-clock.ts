// Migration 2: what a clock that was set back leaves behind (T8).

import type { Dialect } from "../dialect.ts";

export function clockColumns({ textType: text, intType: int }: Dialect): string[] {
  return [
    // The slots ahead of the cursor that have a row already, as JSON; NULL = none, so that a pass pays nothing.
    `ALTER TABLE "cursors" ADD COLUMN "accountedAhead" ${text}`,
    // One row: when a change of a job was last recorded. With the nodes' passes it says whether the clock was set back.
    `CREATE TABLE "changeClock" ("id" ${int} PRIMARY KEY CHECK ("id" = 1), "newestAt" ${int} NOT NULL)`,
  ];
}
