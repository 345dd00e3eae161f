// Putting rows into the outbox, inside whatever transaction makes them (law 5).

import { makeId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/time.ts";
import type { NewDelivery } from "../../records/delivery.ts";

import type { Columns } from "./columns.ts";
import type { Transaction } from "./store.ts";

const NEW_DELIVERY: Columns = {
  id: "text",
  key: "text",
  runId: "text",
  jobId: "text",
  kind: "text",
  target: "json",
  targetText: "text",
  part: "int",
  body: "text",
  media: "json",
  mediaFile: "text",
  repeatability: "text",
  state: "text",
  createdAt: "int",
  nextAttemptAt: "int",
  finishedAt: "int",
  receipt: "json",
  error: "text",
};

/** Inserts rows whose keys are known neither to the outbox nor to its tombstones (O1, L8). Returns how many are new. */
export async function insertDeliveries(
  tx: Transaction,
  deliveries: readonly NewDelivery[],
  now: Instant,
): Promise<number> {
  if (deliveries.length === 0) return 0;
  const rows = deliveries.map((delivery, n) => ({
    ...delivery,
    n,
    id: makeId(now, tx.store.random),
    targetText: delivery.target.text,
    mediaFile: delivery.media?.file,
    createdAt: now,
    nextAttemptAt: now,
    finishedAt: delivery.state === "queued" ? undefined : now,
  }));
  const names = Object.keys(NEW_DELIVERY);
  const inserted = await tx.all(
    `INSERT INTO "deliveries" (${names.map((name) => `"${name}"`).join(", ")})
     SELECT ${names.map((name) => `x."${name}"`).join(", ")} FROM ${tx.dialect.rows("x", { ...NEW_DELIVERY, n: "int" })}
     WHERE NOT EXISTS (SELECT 1 FROM "deliveryTombstones" AS t WHERE t."key" = x."key")
     ORDER BY x."n" ON CONFLICT DO NOTHING RETURNING "id"`,
    [tx.dialect.encodeRows({ ...NEW_DELIVERY, n: "int" }, rows)],
  );
  const isNew = new Set(inserted.map((row) => row.id));
  for (const row of rows) {
    if (!isNew.has(row.id)) continue;
    const data = { deliveryId: row.id, target: row.targetText, ...(row.error ? { error: row.error } : {}) };
    tx.emit({ runId: row.runId, jobId: row.jobId, at: now, kind: `delivery-${row.state}`, data });
  }
  return isNew.size;
}
