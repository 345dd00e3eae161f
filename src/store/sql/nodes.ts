// Nodes as the ledger knows them.
//
// I1. A node that passes often writes its row once a second: a pass must not cost an fsync only to say that it was.

import { DAY, type Instant, SECOND } from "../../kernel/time.ts";
import type { PassRequest } from "../../records/ledger/slots.ts";
import type { NodeRecord } from "../../records/node.ts";
import { columnList, decode, NODE } from "./codecs.ts";
import type { Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import type { Store } from "./store.ts";

export async function registerNode(store: Store, node: NodeRecord): Promise<void> {
  const names = Object.keys(NODE);
  const others = names.filter((name) => name !== "id");
  passRows.get(store)?.delete(node.id);
  await store.connection.transaction(async (tx) => {
    await tx.run(`DELETE FROM "nodes" WHERE COALESCE("stoppedAt", "lastSeenAt") < ?`, [node.startedAt - DAY]);
    await tx.run(
      `INSERT INTO "nodes" (${names.map((name) => `"${name}"`).join(", ")}) SELECT ${names.map((name) => `x."${name}"`).join(", ")} FROM ${store.dialect.rows("x", NODE)} WHERE true
       ON CONFLICT ("id") DO UPDATE SET ${others.map((name) => `"${name}" = excluded."${name}"`).join(", ")}`,
      [store.dialect.encodeRows(NODE, [node])],
    );
  });
}

/** A field given as undefined becomes NULL; one that is not given stays. */
export function updateNode(store: Store, id: string, changes: Partial<NodeRecord>): Promise<void> {
  return writeNode({ ...store.connection, dialect: store.dialect }, id, changes);
}

/** The same as part of a transaction. */
export async function writeNode(
  tx: Pick<Statements, "run"> & { dialect: Dialect },
  id: string,
  changes: Partial<NodeRecord>,
): Promise<void> {
  const names = Object.keys(NODE).filter((name) => name !== "id" && name in changes);
  if (names.length === 0) return;
  await tx.run(
    `UPDATE "nodes" SET ${names.map((name) => `"${name}" = x."${name}"`).join(", ")} FROM ${tx.dialect.rows("x", NODE)} WHERE "nodes"."id" = x."id"`,
    [tx.dialect.encodeRows(NODE, [{ ...changes, id }])],
  );
}

/** (I1) */
const ROW_MS = SECOND;

/** What a pass wrote of its node. */
export interface PassRow {
  at: Instant;
  liveRuns: number;
}

const passRows = new WeakMap<Store, Map<string, PassRow>>();

/** To be called once the transaction of `writePassRow` has committed. */
export function rememberRow(store: Store, nodeId: string, row: PassRow): void {
  const rows = passRows.get(store) ?? new Map<string, PassRow>();
  passRows.set(store, rows.set(nodeId, row));
}

/** Writes the node's row if it is old (I1): `row` is what was written, `dueAt` when what it does not say must be said. */
export async function writePassRow(
  tx: Pick<Statements, "run"> & { dialect: Dialect; store: Store },
  { nodeId, node, now }: PassRequest,
  liveRuns: number,
): Promise<{ row?: PassRow; dueAt?: Instant }> {
  if (!node) return {};
  const { lastPassAt: at = now } = node;
  const last = passRows.get(tx.store)?.get(nodeId);
  if (last && at >= last.at && at < last.at + ROW_MS)
    return last.liveRuns === liveRuns ? {} : { dueAt: last.at + ROW_MS };
  await writeNode(tx, nodeId, { ...node, liveRuns });
  return { row: { at, liveRuns } };
}

export async function nodes(store: Store): Promise<readonly NodeRecord[]> {
  const rows = await store.connection.all(
    `SELECT ${columnList(NODE, "n")} FROM "nodes" AS n ORDER BY n."startedAt" DESC, n."id"`,
  );
  return rows.map((row) => decode<NodeRecord>(NODE, row));
}
