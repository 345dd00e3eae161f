// The outbox half of the ledger, straight from the store's own operations.

import { onTestFinished } from "vitest";
import type { Random } from "../../src/kernel/ids.ts";
import type { Clock } from "../../src/kernel/time.ts";
import type { Delivery } from "../../src/records/delivery.ts";
import type { OutboxLedger } from "../../src/records/ledger/outbox.ts";
import { columnList, DELIVERY, decode } from "../../src/store/sql/codecs.ts";
import { DIALECTS } from "../../src/store/sql/dialect.ts";
import { migrate } from "../../src/store/sql/migrate.ts";
import * as outbox from "../../src/store/sql/outbox.ts";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import type { Store } from "../../src/store/sql/store.ts";

export async function openTestLedger(options: {
  file: string;
  clock: Clock;
  random: Random;
}): Promise<OutboxLedger> {
  const connection = await openSqlite(options.file);
  onTestFinished(() => connection.close());
  await migrate(connection);
  const host = { hostId: "h", machineId: "m", bootId: "b", pidNamespace: "p" };
  const store = { connection, dialect: DIALECTS.sqlite, host, wake: async () => {}, ...options } as Store;
  return {
    putDeliveries: (rows, now) => outbox.putDeliveries(store, rows, now),
    takeDeliveries: (request) => outbox.takeDeliveries(store, request),
    closeDeliveries: (closings) => outbox.closeDeliveries(store, closings),
    takeOverDeliveries: (request) => outbox.takeOverDeliveries(store, request),
    retryDelivery: (id, now) => outbox.retryDelivery(store, id, now),
    nextDeliveryAt: () => outbox.nextDeliveryAt(store),
    delivery: async () => undefined,
    deliveries: async () => {
      const rows = await connection.all(`SELECT ${columnList(DELIVERY, "d")} FROM "deliveries" AS d`, []);
      return rows.map((row) => decode<Delivery>(DELIVERY, row));
    },
  };
}
