// Migration 3: what agents add (S3): what a tree may spend and has spent, sums of model calls, work without a job.

import type { Dialect } from "../dialect.ts";

export function agentTables({ textType: text, intType: int }: Dialect): string[] {
  const sum = (name: string) => `"${name}" ${int} NOT NULL DEFAULT 0`;
  const sums = (names: readonly string[]) => names.map(sum).join(", ");
  return [
    // The JSON of a JobDocument: the work of a run that has no job. NULL = the job's definition says it.
    `ALTER TABLE "runs" ADD COLUMN "input" ${text}`,
    `CREATE TABLE "budgets" ("rootId" ${text} PRIMARY KEY, "maxTokens" ${int}, "maxMicroUsd" ${int}, ${sums(["inputTokens", "outputTokens", "microUsd", "calls", "reservedTokens", "reservedMicroUsd"])})`,
    // One row an hour for each combination of a few bounded words; `errorClass` is '' where none is.
    `CREATE TABLE "modelCallSums" ("hour" ${int} NOT NULL, "model" ${text} NOT NULL, "provider" ${text} NOT NULL, "role" ${text} NOT NULL, "end" ${text} NOT NULL, "errorClass" ${text} NOT NULL, ${sums(["calls", "attempts", "inputTokens", "outputTokens", "cachedInputTokens", "microUsd", "unpricedCalls", "totalMs", "firstTokenMs", "firstTokens"])}, PRIMARY KEY ("hour", "model", "provider", "role", "end", "errorClass"))`,
  ];
}
