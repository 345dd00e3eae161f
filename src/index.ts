// The public API: a node inside your own program, and the readers of the documents it works on.

import { readFileSync } from "node:fs";
import { chooseHome } from "./app/choose-home.ts";
import type { Context } from "./app/context.ts";
import { startNode as startNodeOn } from "./app/node.ts";
import type { NightshiftNode } from "./app/node-options.ts";
import { openContext } from "./app/open-context.ts";
import { type InProcessExecutor, inProcessWork } from "./app/work.ts";

export type { Context } from "./app/context.ts";
export type { JobShowDocument, RunDocument } from "./app/documents.ts";
export { addJob, queueRun } from "./app/jobs.ts";
export type { NightshiftNode } from "./app/node-options.ts";
export { previewSchedule, type SchedulePreview } from "./app/preview.ts";
export { listRuns, showRun } from "./app/runs.ts";
export type { InProcessExecutor } from "./app/work.ts";
export { Fault, type FaultCode, isFault } from "./kernel/errors.ts";
export type { JobDocument } from "./records/job.ts";
export { parseJobDocument } from "./records/job-document.ts";

export interface OpenHomeOptions {
  /** Default: NIGHTSHIFT_HOME, else ~/.nightshift. */
  home?: string;
  /** Default: NIGHTSHIFT_STORE, else the home's own ledger.db. */
  store?: string;
  /** Functions that jobs may run in this process: `run: {task: {executor: NAME}}`. */
  executors?: Readonly<Record<string, InProcessExecutor>>;
}

/** Opens a home, making it if needed. The caller closes it. Throws `Fault`. */
export async function openHome(options: OpenHomeOptions = {}): Promise<Context> {
  const env = process.env;
  const { path, storeUrl } = chooseHome({ home: options.home, profile: undefined, env });
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const work = options.executors && { task: inProcessWork(options.executors) };
  return openContext({
    path,
    storeUrl: options.store ?? storeUrl,
    actor: "api",
    isDebug: false,
    env,
    version,
    ...(work && { work }),
  });
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
