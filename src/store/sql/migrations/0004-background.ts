// Migration 4: background processes (DESIGN §8), which outlive the call, and perhaps the node, that started them.

import type { Dialect } from "../dialect.ts";

export function backgroundTable({ textType: text, intType: int }: Dialect): string[] {
  return [
    `CREATE TABLE "backgroundProcesses" ("id" ${text} PRIMARY KEY, "ownerRunId" ${text}, "session" ${text} NOT NULL, "environment" ${text} NOT NULL, "command" ${text} NOT NULL, "cwd" ${text} NOT NULL,
      "hostId" ${text} NOT NULL, "machineId" ${text} NOT NULL, "bootId" ${text} NOT NULL, "pid" ${int}, "startTime" ${text}, "processGroup" ${int},
      "holderPid" ${int} NOT NULL, "holderStartTime" ${text} NOT NULL, "isSupervised" ${int} NOT NULL, "persist" ${int} NOT NULL,
      "state" ${text} NOT NULL CHECK ("state" IN ('running','exited','killed','lost')), "exitCode" ${int}, "startedAt" ${int} NOT NULL, "endedAt" ${int}, "outputBytes" ${int} NOT NULL, "logFile" ${text},
      "notify" ${text}, "progress" ${text}, "consumedAt" ${int}, "noticedAt" ${int}, "killRequestedAt" ${int})`,
    `CREATE INDEX "backgroundByOwner" ON "backgroundProcesses" ("ownerRunId", "session", "state")`,
    `CREATE INDEX "backgroundByState" ON "backgroundProcesses" ("state", "endedAt")`,
  ];
}
