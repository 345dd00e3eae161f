// Background processes in the ledger: one row each, and the transactions in which an end becomes known and told.

import type { Instant } from "../../kernel/time.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import type {
  BackgroundEnding,
  BackgroundFilter,
  BackgroundLedger,
  BackgroundNotice,
} from "../../records/ledger/background.ts";
import { BACKGROUND, columnList, decode } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row } from "./connection.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { type Store, type Transaction, write } from "./store.ts";

const PROCESS_ID: Columns = { processId: "text" };
/** Sorts behind every character of an id. */
const PREFIX_END = "\u{10ffff}";
const MOST_CANDIDATES = 10;
const MOST_LISTED = 1_000;

const decodeRow = (row: Row) => decode<BackgroundRecord>(BACKGROUND, row);

/** The port's part over a store. */
export function backgroundPart(store: Store): BackgroundLedger {
  return {
    putBackground: (record, mostRunning) => putBackground(store, record, mostRunning),
    background: (idOrPrefix) => background(store, idOrPrefix),
    backgrounds: (filter) => backgrounds(store, filter),
    endBackground: (ending) => endBackground(store, ending),
    consumeBackground: (id, at) => consumeBackground(store, id, at),
    noticeBackground: (notice) => noticeBackground(store, notice),
    handOffBackground: (id, to) => handOffBackground(store, id, to),
    requestBackgroundKill: (id, at) => requestBackgroundKill(store, id, at),
    removeBackgrounds: (ids) => removeBackgrounds(store, ids),
  };
}

async function putBackground(
  store: Store,
  record: BackgroundRecord,
  mostRunning: number,
): Promise<"put" | "full"> {
  return write(store, async (tx) => {
    const counted = await tx.get(
      `SELECT count(*) AS "n" FROM "backgroundProcesses" AS b WHERE b."ownerRunId" IS NOT DISTINCT FROM ? AND b."session" = ? AND b."state" = 'running'`,
      [record.ownerRunId ?? null, record.session],
    );
    if (Number(counted?.n) >= mostRunning) return "full";
    const names = Object.keys(BACKGROUND).map((name) => `"${name}"`);
    await tx.run(
      `INSERT INTO "backgroundProcesses" (${names.join(", ")}) SELECT ${columnList(BACKGROUND, "x")} FROM ${tx.dialect.rows("x", BACKGROUND)} WHERE true`,
      [tx.dialect.encodeRows(BACKGROUND, [record])],
    );
    return "put";
  });
}

async function background(
  store: Store,
  idOrPrefix: string,
): Promise<BackgroundRecord | undefined | { ambiguous: readonly string[] }> {
  const prefix = idOrPrefix.startsWith("proc_") ? idOrPrefix : `proc_${idOrPrefix}`;
  if (prefix === "proc_") return undefined;
  const rows = await store.connection.all(
    `SELECT ${columnList(BACKGROUND, "b")} FROM "backgroundProcesses" AS b WHERE b."id" >= ? AND b."id" < ? ORDER BY b."id" LIMIT ?`,
    [prefix, prefix + PREFIX_END, MOST_CANDIDATES],
  );
  const records = rows.map(decodeRow);
  const [first, second] = records;
  if (first?.id === prefix || !second) return first;
  return { ambiguous: records.map(({ id }) => id) };
}

async function backgrounds(
  store: Store,
  { ownerRunId, session, state, limit = MOST_LISTED }: BackgroundFilter,
): Promise<readonly BackgroundRecord[]> {
  const wheres = ["true"];
  const params: (string | number | null)[] = [];
  if (ownerRunId !== undefined) {
    wheres.push(`b."ownerRunId" IS NOT DISTINCT FROM ?`);
    params.push(ownerRunId);
  }
  if (session !== undefined) {
    wheres.push(`b."session" = ?`);
    params.push(session);
  }
  if (state) {
    wheres.push(`b."state" IN (${state.map(() => "?").join(", ")})`);
    params.push(...state);
  }
  const rows = await store.connection.all(
    `SELECT ${columnList(BACKGROUND, "b")} FROM "backgroundProcesses" AS b WHERE ${wheres.join(" AND ")} ORDER BY b."startedAt" DESC, b."id" DESC LIMIT ?`,
    [...params, limit],
  );
  return rows.map(decodeRow);
}

async function endBackground(store: Store, ending: BackgroundEnding): Promise<boolean> {
  const { id, state, exitCode, endedAt, outputBytes } = ending;
  const row = await write(store, (tx) =>
    tx.get(
      `UPDATE "backgroundProcesses" SET "state" = ?, "exitCode" = CAST(? AS BIGINT), "endedAt" = ?, "outputBytes" = ? WHERE "id" = ? AND "state" = 'running' RETURNING "id"`,
      [state, exitCode ?? null, endedAt, outputBytes, id],
    ),
  );
  if (row) await store.wake();
  return row !== undefined;
}

async function consumeBackground(store: Store, id: string, at: Instant): Promise<boolean> {
  const row = await write(store, (tx) =>
    tx.get(
      `UPDATE "backgroundProcesses" SET "consumedAt" = ? WHERE "id" = ? AND "state" <> 'running' AND "consumedAt" IS NULL AND "noticedAt" IS NULL RETURNING "id"`,
      [at, id],
    ),
  );
  return row !== undefined;
}

async function noticeBackground(store: Store, notice: BackgroundNotice): Promise<boolean> {
  const { deliveries, at, event } = notice;
  const isMarked = await write(store, async (tx) => {
    if (!(await mark(tx, notice))) return false;
    await insertDeliveries(tx, deliveries, at);
    if (event)
      tx.emit({ runId: event.runId, jobId: undefined, at, kind: "process-notice", data: event.data });
    return true;
  });
  if (isMarked) await store.wake();
  return isMarked;
}

async function mark(tx: Transaction, { id, at, kind, progress }: BackgroundNotice): Promise<boolean> {
  if (kind === "exit") {
    const row = await tx.get(
      `UPDATE "backgroundProcesses" SET "noticedAt" = ? WHERE "id" = ? AND "state" <> 'running' AND "consumedAt" IS NULL AND "noticedAt" IS NULL RETURNING "id"`,
      [at, id],
    );
    return row !== undefined;
  }
  const row = await tx.get(
    `UPDATE "backgroundProcesses" SET "progress" = ? WHERE "id" = ? AND "progress" IS NOT DISTINCT FROM ? RETURNING "id"`,
    [progress?.to ?? null, id, progress?.from ?? null],
  );
  return row !== undefined;
}

async function handOffBackground(
  store: Store,
  id: string,
  { ownerRunId, session }: { ownerRunId: string | undefined; session: string },
): Promise<boolean> {
  const row = await write(store, (tx) =>
    tx.get(`UPDATE "backgroundProcesses" SET "ownerRunId" = ?, "session" = ? WHERE "id" = ? RETURNING "id"`, [
      ownerRunId ?? null,
      session,
      id,
    ]),
  );
  return row !== undefined;
}

async function requestBackgroundKill(store: Store, id: string, at: Instant): Promise<void> {
  await store.connection.run(
    `UPDATE "backgroundProcesses" SET "killRequestedAt" = ? WHERE "id" = ? AND "state" = 'running'`,
    [at, id],
  );
  await store.wake();
}

async function removeBackgrounds(store: Store, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = ids.map((id) => ({ processId: id }));
  await store.connection.run(
    `DELETE FROM "backgroundProcesses" WHERE "state" <> 'running' AND "id" IN (SELECT x."processId" FROM ${store.dialect.rows("x", PROCESS_ID)})`,
    [store.dialect.encodeRows(PROCESS_ID, rows)],
  );
}
