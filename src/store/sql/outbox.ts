// Draining the outbox (O1–O5): in order per target, fenced like runs.

import type { Instant } from "../../kernel/time.ts";
import type { Delivery, NewDelivery } from "../../records/delivery.ts";
import { type DeliveryClosing, MEDIA_LEASE_FACTOR, type OutboxLedger } from "../../records/ledger/outbox.ts";
import { columnList, DELIVERY, decode } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { isOpen } from "./endings.ts";
import { listDeliveries } from "./lists.ts";
import { HAS_ITS_FILE, NODE_SEEN_MS, queuedHeads } from "./outbox-heads.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { findDelivery } from "./reading.ts";
import { leaseClock, leaseExpired, type Store, type Transaction, write } from "./store.ts";

const DELIVERY_ID: Columns = { deliveryId: "text" };
const NODE: Columns = { nodeId: "text" };
/** SQL with two parameters: now and the lease of a text. */
const LEASE_END = `CAST(? AS BIGINT) + CAST(? AS BIGINT) * CASE WHEN "deliveries"."mediaFile" IS NULL THEN 1 ELSE ${MEDIA_LEASE_FACTOR} END`;

const decodeDelivery = (row: Row) => decode<Delivery>(DELIVERY, row);
const idsOf = (tx: Transaction, rows: readonly Row[]) =>
  tx.dialect.encodeRows(
    DELIVERY_ID,
    rows.map(({ id }) => ({ deliveryId: id })),
  );

/** The port's part over a store. */
export function outboxPart(store: Store): OutboxLedger {
  return {
    putDeliveries: (deliveries, now) => putDeliveries(store, deliveries, now),
    takeDeliveries: (request) => takeDeliveries(store, request),
    closeDeliveries: (closings) => closeDeliveries(store, closings),
    takeOverDeliveries: (request) => takeOverDeliveries(store, request),
    retryDelivery: (id, now) => retryDelivery(store, id, now),
    dismissDelivery: (id, dismissal) => dismissDelivery(store, id, dismissal),
    blankDeliveries: (request) => blankDeliveries(store, request),
    knownMediaFiles: (files) => knownMediaFiles(store, files),
    delivery: (idOrPrefix) => findDelivery(store, idOrPrefix),
    deliveries: (filter) => listDeliveries(store, filter),
    nextDeliveryAt: () => nextDeliveryAt(store),
  };
}

async function putDeliveries(store: Store, deliveries: readonly NewDelivery[], now: Instant): Promise<void> {
  if (deliveries.length === 0) return;
  const added = await write(store, (tx) => insertDeliveries(tx, deliveries, now));
  if (added > 0) await store.wake();
}

interface TakeRequest {
  nodeId: string;
  now: Instant;
  leaseMs: number;
}

/** queued → sending; of each target only the oldest unfinished row (O2). */
async function takeDeliveries(
  store: Store,
  request: TakeRequest & { limit: number },
): Promise<readonly Delivery[]> {
  const { nodeId, now, leaseMs, limit } = request;
  return write(store, async (tx) => {
    const rows = await tx.all(
      `${queuedHeads(columnList(DELIVERY, "d"), tx.dialect)} AND d."nextAttemptAt" <= ? AND ${HAS_ITS_FILE}
       ORDER BY d."sequence" LIMIT ?${tx.dialect.skipLocked("d")}`,
      [now, store.host.hostId, now - NODE_SEEN_MS, limit],
    );
    if (rows.length === 0) return [];
    const clock = await leaseClock(store, tx);
    await tx.run(
      `UPDATE "deliveries" SET "state" = 'sending', "owner" = ?, "token" = "deliveries"."token" + 1, "attempts" = "deliveries"."attempts" + 1, "leaseEnd" = ${LEASE_END}, "leaseBoot" = ?
       FROM ${tx.dialect.rows("x", DELIVERY_ID)} WHERE "deliveries"."id" = x."deliveryId"`,
      [nodeId, clock.nowMs, leaseMs, clock.boot, idsOf(tx, rows)],
    );
    return rows.map(decodeDelivery).map((delivery) => {
      const { runId, jobId, id } = delivery;
      const attempts = delivery.attempts + 1;
      tx.emit({
        runId,
        jobId,
        at: now,
        kind: "delivery-sending",
        data: { deliveryId: id, attempt: attempts },
      });
      return { ...delivery, state: "sending", owner: nodeId, token: delivery.token + 1, attempts } as const;
    });
  });
}

/**
 * `sending` rows whose owner is gone: ours, still `sending`, with a higher token (O3). It counts as a try: a message that
 * takes its sender down each time must come to an end (O2).
 */
async function takeOverDeliveries(
  store: Store,
  request: TakeRequest & { deadNodes: readonly string[] },
): Promise<readonly Delivery[]> {
  const { nodeId, now, leaseMs, deadNodes } = request;
  return write(store, async (tx) => {
    const clock = await leaseClock(store, tx);
    const rows = await tx.all(
      `SELECT ${columnList(DELIVERY, "d")} FROM "deliveries" AS d WHERE d."state" = 'sending' AND d."owner" <> ?
         AND (${leaseExpired("d")} OR d."owner" IN (SELECT x."nodeId" FROM ${tx.dialect.rows("x", NODE)}))
       ORDER BY d."sequence"${tx.dialect.skipLocked("d")}`,
      [
        nodeId,
        clock.boot,
        clock.nowMs,
        tx.dialect.encodeRows(
          NODE,
          deadNodes.map((id) => ({ nodeId: id })),
        ),
      ],
    );
    if (rows.length === 0) return [];
    await tx.run(
      `UPDATE "deliveries" SET "owner" = ?, "token" = "deliveries"."token" + 1, "attempts" = "deliveries"."attempts" + 1, "leaseEnd" = ${LEASE_END}, "leaseBoot" = ?
       FROM ${tx.dialect.rows("x", DELIVERY_ID)} WHERE "deliveries"."id" = x."deliveryId"`,
      [nodeId, clock.nowMs, leaseMs, clock.boot, idsOf(tx, rows)],
    );
    return rows.map(decodeDelivery).map((delivery) => {
      const { id, runId, jobId, owner } = delivery;
      const data = { deliveryId: id, previousOwner: owner };
      tx.emit({ runId, jobId, at: now, kind: "delivery-taken-over", data });
      const attempts = delivery.attempts + 1;
      return { ...delivery, owner: nodeId, token: delivery.token + 1, attempts };
    });
  });
}

const CLOSING: Columns = {
  deliveryId: "text",
  owner: "text",
  token: "int",
  state: "text",
  receipt: "json",
  error: "text",
  finishedAt: "int",
  nextAttemptAt: "int",
  untried: "int",
};

async function closeDeliveries(
  store: Store,
  closings: readonly DeliveryClosing[],
): Promise<readonly ("closed" | "lost")[]> {
  if (closings.length === 0) return [];
  const rows = closings.map((closing) => ({
    ...closing,
    deliveryId: closing.id,
    state: closing.kind === "retry" ? "queued" : closing.kind,
    untried: closing.kind === "retry" && closing.isUntried ? 1 : 0,
  }));
  return write(store, async (tx) => {
    const closed = await tx.all(
      `UPDATE "deliveries" SET "state" = x."state", "receipt" = x."receipt", "error" = x."error", "finishedAt" = x."finishedAt",
         "attempts" = "deliveries"."attempts" - x."untried",
         "nextAttemptAt" = COALESCE(x."nextAttemptAt", "deliveries"."nextAttemptAt"), "owner" = NULL, "leaseEnd" = NULL, "leaseBoot" = NULL
       FROM ${tx.dialect.rows("x", CLOSING)}
       WHERE "deliveries"."id" = x."deliveryId" AND "deliveries"."token" = x."token" AND "deliveries"."owner" = x."owner" AND "deliveries"."state" = 'sending'
       RETURNING "deliveries"."id", "deliveries"."runId", "deliveries"."jobId", "deliveries"."state", "deliveries"."error"`,
      [tx.dialect.encodeRows(CLOSING, rows)],
    );
    const isClosed = new Map(closed.map((row) => [String(row.id), row]));
    return closings.map((closing) => {
      const row = isClosed.get(closing.id);
      if (!row) return "lost";
      emitClosing(tx, closing, row);
      return "closed";
    });
  });
}

function emitClosing(tx: Transaction, closing: DeliveryClosing, row: Row): void {
  const text = (value: unknown) => (value === null ? undefined : String(value));
  const data = { deliveryId: closing.id, ...(closing.kind === "delivered" ? {} : { error: closing.error }) };
  const at = closing.kind === "retry" ? tx.store.clock.now() : closing.finishedAt;
  tx.emit({ runId: text(row.runId), jobId: text(row.jobId), at, kind: `delivery-${closing.kind}`, data });
}

async function retryDelivery(store: Store, id: string, now: Instant): Promise<Delivery | undefined> {
  const row = await write(store, async (tx) => {
    const retried = await tx.get(
      `UPDATE "deliveries" SET "state" = 'queued', "attempts" = 0, "nextAttemptAt" = ?, "finishedAt" = NULL, "error" = NULL, "receipt" = NULL, "owner" = NULL, "token" = "token" + 1
       WHERE "id" = ? AND "state" IN ('dead','unknown') RETURNING ${columnList(DELIVERY, `"deliveries"`)}`,
      [now, id],
    );
    if (!retried) return undefined;
    const { runId, jobId } = decodeDelivery(retried);
    tx.emit({ runId, jobId, at: now, kind: "delivery-queued", data: { deliveryId: id, by: "person" } });
    return retried;
  });
  if (!row) return undefined;
  await store.wake();
  return decodeDelivery(row);
}

/** A terminal row changes only by way of `queued`, which nobody sees inside one transaction. */
async function dismissDelivery(
  store: Store,
  id: string,
  { reason, now }: { reason: string; now: Instant },
): Promise<Delivery | undefined> {
  return write(store, async (tx) => {
    const woken = await tx.get(
      `UPDATE "deliveries" SET "state" = 'queued', "token" = "token" + 1
       WHERE "id" = ? AND "state" IN ('dead','unknown') RETURNING "id"`,
      [id],
    );
    if (!woken) return undefined;
    const row = await tx.get(
      `UPDATE "deliveries" SET "state" = 'suppressed', "error" = ?, "finishedAt" = ? WHERE "id" = ?
       RETURNING ${columnList(DELIVERY, `"deliveries"`)}`,
      [reason, now, id],
    );
    if (!row) return undefined;
    const delivery = decodeDelivery(row);
    const { runId, jobId } = delivery;
    tx.emit({ runId, jobId, at: now, kind: "delivery-suppressed", data: { deliveryId: id, error: reason } });
    return delivery;
  });
}

/** Dead and unknown rows keep their text: a person may still send them. */
async function blankDeliveries(
  store: Store,
  { before, limit }: { before: Instant; limit: number },
): Promise<number> {
  const blanked = await write(store, (tx) =>
    tx.all(
      `UPDATE "deliveries" SET "body" = '', "media" = NULL, "mediaFile" = NULL WHERE "id" IN (
         SELECT "id" FROM "deliveries" WHERE "state" IN ('delivered','suppressed') AND "finishedAt" < ? AND "body" <> ''
         ORDER BY "sequence" LIMIT ?) RETURNING "id"`,
      [before, limit],
    ),
  );
  return blanked.length;
}

const FILE: Columns = { file: "text", runId: "text" };

async function knownMediaFiles(
  { connection, dialect }: Store,
  files: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await connection.all(
    `SELECT x."file" AS "file" FROM ${dialect.rows("x", FILE)}
     WHERE EXISTS (SELECT 1 FROM "deliveries" AS d WHERE d."mediaFile" = x."file")
        OR EXISTS (SELECT 1 FROM "runs" AS r JOIN "runs" AS t ON t."id" = r."rootId" WHERE r."id" = x."runId" AND ${isOpen("t")})`,
    [
      dialect.encodeRows(
        FILE,
        files.map((file) => ({ file, runId: file.split("/").at(-2) })),
      ),
    ],
  );
  return new Set(rows.map((row) => String(row.file)));
}

async function nextDeliveryAt(store: Store): Promise<Instant | undefined> {
  const row = await store.connection.get(queuedHeads(`min(d."nextAttemptAt") AS "at"`, store.dialect));
  return typeof row?.at === "number" ? row.at : undefined;
}
