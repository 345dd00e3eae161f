// Migration 6: incidents, what is wrong with a job as one thing with one cause (issue D 7).

import type { Dialect } from "../dialect.ts";

export function incidentTable({ textType: text, intType: int }: Dialect): string[] {
  return [
    `CREATE TABLE "incidents" ("id" ${text} PRIMARY KEY, "jobId" ${text} NOT NULL, "cause" ${text} NOT NULL,
      "state" ${text} NOT NULL CHECK ("state" IN ('open','acknowledged','resolved')), "openings" ${int} NOT NULL CHECK ("openings" >= 1), "failures" ${int} NOT NULL,
      "error" ${text} NOT NULL, "firstAt" ${int} NOT NULL, "openedAt" ${int} NOT NULL, "lastAt" ${int} NOT NULL, "lastRunId" ${text} NOT NULL,
      "told" ${text} CHECK ("told" IN ('failing','working')), "toldAt" ${int}, "alertedAt" ${int}, "tellAt" ${int},
      "acknowledgedBy" ${text}, "acknowledgedAt" ${int}, "note" ${text}, "resolvedAt" ${int}, "resolvedBy" ${text},
      UNIQUE ("jobId", "cause"), CHECK (("resolvedAt" IS NOT NULL) = ("state" = 'resolved')))`,
    `CREATE INDEX "incidentsByState" ON "incidents" ("state", "lastAt")`,
    `CREATE INDEX "incidentsByLast" ON "incidents" ("lastAt")`,
    `CREATE INDEX "incidentsTold" ON "incidents" ("toldAt") WHERE "toldAt" IS NOT NULL`,
    `CREATE INDEX "incidentsToTell" ON "incidents" ("tellAt") WHERE "tellAt" IS NOT NULL`,
  ];
}
