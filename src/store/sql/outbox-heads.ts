// The oldest unfinished row of each target, the only one that may be sent (O2), as SQL.
//
// I1. It costs by the number of targets, not of messages: ten thousand that wait for one platform hold up nobody else.
//     From one target to the next the index is entered anew (a loose scan).

import { MINUTE } from "../../kernel/time.ts";
import type { Dialect } from "./dialect.ts";

const OPEN = `IN ('queued','sending')`;

/** A node that was not seen for longer is not waited for. */
export const NODE_SEEN_MS = 5 * MINUTE;

/**
 * With two parameters, this host and the instant before which a node counts as gone: a file lies on the host that made it,
 * so that its row is left to the nodes of that host as long as there are any.
 */
export const HAS_ITS_FILE = `(d."mediaFile" IS NULL OR NOT EXISTS (SELECT 1 FROM "runs" AS r JOIN "nodes" AS m ON m."id" = r."owner" JOIN "nodes" AS h ON h."hostId" = m."hostId"
    WHERE r."id" = d."runId" AND m."hostId" <> ? AND h."stoppedAt" IS NULL AND h."lastSeenAt" > ?))`;

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
