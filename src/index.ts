// The public API: a node inside your own program, and the readers of the documents it works on.

import { readFileSync } from "node:fs";
import { chooseHome } from "./app/choose-home.ts";
import type { Context } from "./app/context.ts";
import { parseDraft } from "./app/job-documents.ts";
import type { JobEcho } from "./app/job-echo.ts";
import { addJob as addChecked } from "./app/jobs.ts";
import { startNode as startNodeOn } from "./app/node.ts";
import type { NightshiftNode } from "./app/node-options.ts";
import { openContext } from "./app/open-context.ts";
import type { InProcessExecutor } from "./app/work.ts";
import type { DefinedExecutor } from "./orchestrate/executors/define-executor.ts";
import type { JobDocument } from "./records/job.ts";

export type { Context } from "./app/context.ts";
export type { JobShowDocument, RunDocument } from "./app/documents.ts";
export { queueRun } from "./app/jobs.ts";
export type { NightshiftNode } from "./app/node-options.ts";
export { previewSchedule, type SchedulePreview } from "./app/preview.ts";
export { listRuns, showRun } from "./app/runs.ts";
export type { InProcessExecutor } from "./app/work.ts";
export { queueTask as submitTask, queueWorkflow as submitWorkflow } from "./app/workflows/workflows.ts";
export { Fault, type FaultCode, isFault } from "./kernel/errors.ts";
export {
  type DefinedExecutor,
  defineExecutor,
  type ExecutorDefinition,
  type ExecutorSchema,
  type ExecutorTools,
  type StandardSchema,
} from "./orchestrate/executors/define-executor.ts";
export type { JobDocument } from "./records/job.ts";
export { parseJobDocument } from "./records/job-document.ts";

export interface OpenHomeOptions {
  /** Default: NIGHTSHIFT_HOME, else ~/.nightshift. */
  home?: string;
  /** Default: NIGHTSHIFT_STORE, else the home's own ledger.db. */
  store?: string;
  /**
   * What jobs and workflows may run in this process, by name (`run: {task: {executor: NAME}}`): plain functions, or
   * definitions with a contract (`defineExecutor`; the name here wins).
   */
  executors?: Readonly<Record<string, InProcessExecutor | DefinedExecutor>>;
}

/** Opens a home, making it if needed. The caller closes it. Throws `Fault`. */
export async function openHome(options: OpenHomeOptions = {}): Promise<Context> {
  const env = process.env;
  const { path, storeUrl } = chooseHome({ home: options.home, profile: undefined, env });
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return openContext({
    path,
    storeUrl: options.store ?? storeUrl,
    actor: "api",
    isDebug: false,
    env,
    version,
    ...(options.executors && { executors: options.executors }),
  });
}

/** Adds a job, held to the same form as a file is. Throws `job.invalid` and what else stands against it. */
export async function addJob(context: Context, draft: JobDocument): Promise<JobEcho> {
  return addChecked(context, parseDraft(draft));
}

/** Starts a node in this process; stop it before the context is closed. */
export async function startNode(
  context: Context,
  options: { maxParallelRuns?: number } = {},
): Promise<NightshiftNode> {
  return startNodeOn({ context, watchWorker: new URL("./watch-worker.js", import.meta.url), ...options });
}

/** JSON Schemas of job and config files, for editors. */
export async function jsonSchemas(): Promise<Record<string, unknown>> {
  const { jsonSchemaOfConfig, jsonSchemaOfJob } = await import("./records/job-json-schema.ts");
  return { job: jsonSchemaOfJob(), config: jsonSchemaOfConfig() };
}
