// How far a chat's messages have been taken: one row a source, moved forward by compare-and-set.

import type { ChatLedger } from "../../records/ledger/chats.ts";
import type { Store } from "./store.ts";

/** The port's part over a store. */
export function chatPart(store: Store): ChatLedger {
  return {
    chatOffset: (source) => chatOffset(store, source),
    takeChatUpdate: (source, updateId) => takeChatUpdate(store, source, updateId),
  };
}

async function chatOffset({ connection }: Store, source: string): Promise<number | undefined> {
  const row = await connection.get(`SELECT "next" FROM "chatOffsets" WHERE "source" = ?`, [source]);
  return row ? Number(row.next) : undefined;
}

async function takeChatUpdate({ connection }: Store, source: string, updateId: number): Promise<boolean> {
  const changed = await connection.run(
    `INSERT INTO "chatOffsets" ("source", "next") VALUES (?, ?)
     ON CONFLICT ("source") DO UPDATE SET "next" = excluded."next" WHERE "chatOffsets"."next" < excluded."next"`,
    [source, updateId + 1],
  );
  return changed === 1;
}
