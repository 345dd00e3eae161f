// What a workflow is checked against, and what a check finds.

import type { DocumentIssue } from "../../records/document-issues.ts";
import type { Resources } from "../../records/workflow.ts";
import type { ValueSchema } from "../value-schema.ts";

/** What an executor promises, as far as it says. */
export interface ExecutorContract {
  name: string;
  input?: ValueSchema | undefined;
  output?: ValueSchema | undefined;
  resources?: Resources | undefined;
  /** Another machine does it, or may: what it needs is judged there. */
  isElsewhere?: boolean | undefined;
}

export interface CheckTables {
  executors?: ReadonlyMap<string, ExecutorContract> | undefined;
  queues?: readonly string[] | undefined;
  workflows?: readonly string[] | undefined;
  /** What each machine has in all; a request must fit on one of them. */
  machines?: readonly Resources[] | undefined;
}

export interface CheckResult {
  issues: DocumentIssue[];
  /** What is accepted and probably not meant, one sentence each. */
  warnings: string[];
}
