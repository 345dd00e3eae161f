// The oldest unfinished row of each target, the only one that may be sent (O2), as SQL.
//
// I1. It costs by the number of targets, not of messages: ten thousand that wait for one platform hold up nobody else.
//     From one target to the next the index is entered anew (a loose scan).

import type { Dialect } from "./dialect.ts";

const OPEN = `IN ('queued','sending')`;

/**
 * `WITH … ` and a FROM whose `d` are queued heads; further conditions follow with AND. A loose scan is not among what
 * SQLite's planner considers, so that it is told which index to use.
 */
export function queuedHeads(columns: string, { engine }: Dialect): string {
  const byTarget = engine === "sqlite" ? `INDEXED BY "deliveriesOpen"` : "";
  return `WITH RECURSIVE t("target") AS (
      SELECT min(a."targetText") FROM "deliveries" AS a ${byTarget} WHERE a."state" ${OPEN}
      UNION ALL
      SELECT (SELECT min(n."targetText") FROM "deliveries" AS n ${byTarget} WHERE n."state" ${OPEN} AND n."targetText" > t."target")
      FROM t WHERE t."target" IS NOT NULL)
    SELECT ${columns} FROM t JOIN "deliveries" AS d ON d."sequence" =
      (SELECT min(o."sequence") FROM "deliveries" AS o ${byTarget} WHERE o."targetText" = t."target" AND o."state" ${OPEN})
    WHERE d."state" = 'queued'`;
}
