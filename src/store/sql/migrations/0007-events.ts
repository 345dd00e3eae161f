// Migration 7: events from outside (W7), each once, and the runs that they set off.

import type { Dialect } from "../dialect.ts";

export function eventTables({ textType: text, intType: int }: Dialect): string[] {
  return [
    `CREATE TABLE "triggerEvents" ("id" ${text} PRIMARY KEY, "key" ${text} NOT NULL UNIQUE, "kind" ${text} NOT NULL, "name" ${text} NOT NULL,
      "receivedAt" ${int} NOT NULL, "contentType" ${text}, "headers" ${text} NOT NULL, "data" ${text} NOT NULL, "digest" ${text} NOT NULL)`,
    `CREATE INDEX "triggerEventsByAge" ON "triggerEvents" ("receivedAt")`,
    `ALTER TABLE "runs" ADD COLUMN "eventId" ${text}`,
    `CREATE INDEX "runsByEvent" ON "runs" ("eventId") WHERE "eventId" IS NOT NULL`,
  ];
}
