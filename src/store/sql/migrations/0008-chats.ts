// Migration 8: how far the messages of a chat platform have been taken (issue D 9).

import type { Dialect } from "../dialect.ts";

export function chatOffsetTable({ textType: text, intType: int }: Dialect): string[] {
  return [`CREATE TABLE "chatOffsets" ("source" ${text} PRIMARY KEY, "next" ${int} NOT NULL)`];
}
