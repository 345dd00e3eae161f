// Migration 5: workflows and their tasks: journals, and queues that tasks wait in (W4).

import type { Dialect } from "../dialect.ts";

export function workflowTables({ textType: text, intType: int }: Dialect): string[] {
  return [
    // `rank`: priority in steps of waiting, less the instant it was queued: the greater, the sooner. Made by claim-tasks.ts.
    `ALTER TABLE "runs" ADD COLUMN "queue" ${text}`,
    `ALTER TABLE "runs" ADD COLUMN "admission" ${text}`,
    `ALTER TABLE "runs" ADD COLUMN "rank" ${int}`,
    `CREATE INDEX "tasksWaiting" ON "runs" ("queue", "rank" DESC, "id") WHERE "queue" IS NOT NULL AND "owner" IS NULL AND "finishedAt" IS NULL`,
    `CREATE INDEX "tasksLive" ON "runs" ("queue") WHERE "queue" IS NOT NULL AND "owner" IS NOT NULL AND "finishedAt" IS NULL`,
    `CREATE INDEX "tasksEnded" ON "runs" ("queue", "finishedAt") WHERE "queue" IS NOT NULL AND "finishedAt" IS NOT NULL`,
    `CREATE TABLE "journal" ("runId" ${text} NOT NULL, "sequence" ${int} NOT NULL, "entry" ${text} NOT NULL, PRIMARY KEY ("runId", "sequence"))`,
    // What a machine has, as its node measured it: JSON.
    `ALTER TABLE "nodes" ADD COLUMN "resources" ${text}`,
  ];
}
