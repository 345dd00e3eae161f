// Job documents in a table, for homes on PostgreSQL: the same port that job files have (records/source.ts).
//
// I1. A removed document keeps its text under another name, as a file would in `.trash/` (D3).

import { createHash } from "node:crypto";
import type { Ledger } from "../../records/ledger/index.ts";
import type { DefinitionSource, SourceEntry, WriteAnswer } from "../../records/source.ts";
import type { Row } from "./connection.ts";
import { type Store, storeOf } from "./store.ts";

const PREFIX = "table/";

/** The documents beside a ledger of this room. Closed with the ledger. */
export function openDocumentTable(ledger: Ledger): DefinitionSource {
  const store = storeOf(ledger);
  return {
    async list() {
      const rows = await store.connection.all(
        `SELECT "source", "text", "digest" FROM "documents" WHERE "removedAt" IS NULL ORDER BY "source"`,
      );
      return { isReadable: true, entries: rows.map(decodeEntry), unreadable: [], settlesAt: undefined };
    },
    async read(source) {
      const row = await store.connection.get(
        `SELECT "source", "text", "digest" FROM "documents" WHERE "source" = ? AND "removedAt" IS NULL`,
        [source],
      );
      return row && decodeEntry(row);
    },
    sourceFor: (jobId) => PREFIX + jobId,
    write: (source, text, expectedDigest) => writeDocument(store, { source, text, expectedDigest }),
    remove: (source, expectedDigest) => removeDocument(store, source, expectedDigest),
    watch: (listener) => ledger.onChange(listener),
  };
}

function decodeEntry(row: Row): SourceEntry {
  const source = String(row.source);
  return {
    source,
    defaultId: source.slice(PREFIX.length),
    digest: String(row.digest),
    text: String(row.text),
  };
}

interface Write {
  source: string;
  text: string;
  expectedDigest: string | undefined;
}

async function writeDocument(store: Store, { source, text, expectedDigest }: Write): Promise<WriteAnswer> {
  const digest = createHash("sha256").update(text).digest("hex");
  // One statement compares and writes, so two writers never both succeed.
  const written =
    expectedDigest === undefined
      ? await store.connection.run(
          `INSERT INTO "documents" ("source", "text", "digest") VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
          [source, text, digest],
        )
      : await store.connection.run(
          `UPDATE "documents" SET "text" = ?, "digest" = ? WHERE "source" = ? AND "digest" = ? AND "removedAt" IS NULL`,
          [text, digest, source, expectedDigest],
        );
  if (written > 0) {
    await store.wake();
    return { kind: "written", digest };
  }
  const row = await store.connection.get(`SELECT "digest" FROM "documents" WHERE "source" = ?`, [source]);
  return { kind: "conflict", actualDigest: row === undefined ? undefined : String(row.digest) };
}

async function removeDocument(store: Store, source: string, expectedDigest: string) {
  const now = store.clock.now();
  const keptAt = `trash/${now}/${source.slice(PREFIX.length)}`;
  const removed = await store.connection.run(
    `UPDATE "documents" SET "source" = ?, "removedAt" = ? WHERE "source" = ? AND "digest" = ? AND "removedAt" IS NULL`,
    [keptAt, now, source, expectedDigest],
  );
  if (removed === 0) return { kind: "conflict" } as const;
  await store.wake();
  return { kind: "removed", keptAt } as const;
}
