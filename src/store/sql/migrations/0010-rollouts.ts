// Migration 10: rollouts of executors' versions; what a node knows of other machines and of its own memory.

import type { Dialect } from "../dialect.ts";

export function rolloutTables({ textType: text, intType: int }: Dialect): string[] {
  return [
    `CREATE TABLE "rollouts" ("executor" ${text} PRIMARY KEY, "revision" ${int} NOT NULL, "version" ${text} NOT NULL, "baseline" ${text} NOT NULL,
      "traffic" ${int} NOT NULL, "state" ${text} NOT NULL, "bounds" ${text} NOT NULL, "startedAt" ${int} NOT NULL, "startedBy" ${text} NOT NULL,
      "changedAt" ${int} NOT NULL, "changedBy" ${text} NOT NULL, "reason" ${text})`,
    // Newest ends first, whatever their queue: how versions do.
    `CREATE INDEX "tasksByEnd" ON "runs" ("finishedAt") WHERE "queue" IS NOT NULL AND "finishedAt" IS NOT NULL`,
    `ALTER TABLE "nodes" ADD COLUMN "remotes" ${text}`,
    `ALTER TABLE "nodes" ADD COLUMN "memory" ${text}`,
  ];
}
