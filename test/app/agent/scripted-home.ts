// A real home whose only model is a scripted one behind real HTTP, and jobs on it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../../src/app/context.ts";
import { addJob, queueRun } from "../../../src/app/jobs.ts";
import { tickOnce } from "../../../src/app/node.ts";
import type { NodeOptions } from "../../../src/app/node-options.ts";
import type { OpenOptions } from "../../../src/app/open-context.ts";
import { showRun } from "../../../src/app/runs.ts";
import type { JobDocument } from "../../../src/records/job.ts";
import { testContext } from "../../support/home.ts";
import { type ModelServer, type Script, startModelServer } from "../../support/model-server.ts";
import { tempFolder } from "../../support/temp.ts";

export interface ScriptedHome {
  context: Context;
  server: ModelServer;
}

export interface ScriptedOptions extends Partial<OpenOptions> {
  /** Further keys of the model. */
  model?: string;
  /** Further lines of config.yaml. */
  config?: string;
  /** Further lines under `models`. */
  models?: string;
}

/** `steps` are what the model does, one a request. Files of the home are written before it is opened. */
export async function scriptedHome(
  steps: Script,
  { model = "", config = "", models = "", ...options }: ScriptedOptions = {},
): Promise<ScriptedHome> {
  const server = await startModelServer(steps);
  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true, mode: 0o700 });
  const main = `{provider: openai-compatible, id: scripted, baseUrl: "${server.baseUrl}"${model}}`;
  const yaml = `models:\n  default: main\n  named:\n    main: ${main}\n${models}${config}`;
  await writeFile(join(path, "config.yaml"), yaml, { mode: 0o600 });
  return { context: await testContext({ path, ...options }), server };
}

/** An agent job by hand. */
export function agentJob(
  id: string,
  agent: Record<string, unknown>,
  rest: Partial<JobDocument> = {},
): JobDocument {
  return { id, run: { agent }, ...rest };
}

/** Adds the job, runs it once to its end, and shows the run. */
export async function runOnce(context: Context, job: JobDocument, node: Partial<NodeOptions> = {}) {
  await addJob(context, job);
  return runAgain(context, job.id, node);
}

export async function runAgain(context: Context, jobId: string, node: Partial<NodeOptions> = {}) {
  const { id } = await queueRun(context, jobId);
  await tickOnce({ context, ...node });
  return showRun(context, id);
}

export async function writeIn(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text);
  return file;
}
