// What `environment list`, `check` and `exec` and `check-env` say of environments on this machine.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { commandEnv } from "../execute/command-env.ts";
import {
  checkEnvironment,
  describeEnvironment,
  type EnvironmentCheck,
  openEnvironment,
} from "../execute/environments/index.ts";
import { makePipePool } from "../execute/pipe-pool.ts";
import { isFault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import type { CommandResult, ExecOptions } from "../records/environment.ts";
import {
  type EnvironmentInput,
  type EnvironmentSpec,
  formatEnvironment,
  parseEnvironmentSpec,
} from "../records/environment-spec.ts";
import type { Job } from "../records/job.ts";
import { agentTempFolder } from "./agent/temp-folder.ts";
import { checkDepsOf } from "./check-deps.ts";
import type { Context } from "./context.ts";
import type { Finding } from "./diagnosis.ts";

export interface EnvironmentDocument {
  /** Its name in config.yaml, or its short text. */
  name: string;
  /** In words: backend, image or host, limits. */
  what: string;
  isUsable: boolean;
  /** What the check found; empty where it is not usable. */
  notes: string[];
  why: string | null;
  hint: string | null;
  /** Ids of jobs that use it. */
  usedBy: string[];
}

/** `local`, those named in config.yaml, and those that jobs name; each looked at. Fetches nothing. Never throws for one. */
export async function listEnvironments(context: Context): Promise<EnvironmentDocument[]> {
  const uses = await usesOf(context);
  const documents: EnvironmentDocument[] = [];
  for (const [name, { input, usedBy }] of uses) documents.push(await look(context, { name, input, usedBy }));
  return documents;
}

/** One of them, by name or as a job would write it. Throws `input.invalid` for what means none. */
export async function checkNamed(context: Context, name: string): Promise<EnvironmentDocument> {
  parseEnvironmentSpec(name, context.config.environments);
  return look(context, { name, input: name, usedBy: (await usesOf(context)).get(name)?.usedBy ?? [] });
}

interface Use {
  input: EnvironmentInput;
  usedBy: string[];
}

async function usesOf(context: Context): Promise<Map<string, Use>> {
  const uses = new Map<string, Use>([["local", { input: "local", usedBy: [] }]]);
  for (const name of Object.keys(context.config.environments)) uses.set(name, { input: name, usedBy: [] });
  for (const { definition, cursor } of await context.ledger.jobs()) {
    if (cursor.removedAt !== undefined) continue;
    const job = jobOrNothing(context, definition);
    if (!job) continue;
    const name = nameOf(job.environment, context);
    const use = uses.get(name) ?? { input: job.environment, usedBy: [] };
    use.usedBy.push(definition.jobId);
    uses.set(name, use);
  }
  return uses;
}

/** One that cannot be read is held, and `doctor` finds it as that. */
function jobOrNothing(context: Context, definition: Parameters<Context["parseJob"]>[0]): Job | undefined {
  try {
    return context.parseJob(definition);
  } catch {
    return undefined;
  }
}

/** A map in a job is told by its short text; two maps of the same backend and image are one line. */
function nameOf(input: EnvironmentInput, { config }: Context): string {
  if (typeof input === "string") return input.trim();
  try {
    return formatEnvironment(parseEnvironmentSpec(input, config.environments));
  } catch {
    return JSON.stringify(input);
  }
}

async function look(
  context: Context,
  { name, input, usedBy }: Use & { name: string },
): Promise<EnvironmentDocument> {
  const blank = { name, usedBy, notes: [], why: null, hint: null };
  let spec: EnvironmentSpec;
  try {
    spec = parseEnvironmentSpec(input, context.config.environments);
  } catch (error) {
    if (!isFault(error)) throw error;
    return { ...blank, what: name, isUsable: false, why: error.message, hint: error.hint };
  }
  const what = describeEnvironment(spec);
  const check = await checkEnvironment(checkDepsOf(context), spec);
  return { ...blank, what, ...answerOf(check) };
}

function answerOf(check: EnvironmentCheck): Pick<EnvironmentDocument, "isUsable" | "notes" | "why" | "hint"> {
  return check.usable
    ? { isUsable: true, notes: check.notes, why: null, hint: null }
    : { isUsable: false, notes: [], why: check.why, hint: check.hint };
}

/** One of each backend, for people who wonder what they could use here. */
const SAMPLES: readonly EnvironmentSpec[] = [
  { backend: "local" },
  { backend: "local", sandbox: "bubblewrap" },
  { backend: "docker", image: "IMAGE" },
  { backend: "ssh", host: "HOST" },
  { backend: "singularity", image: "IMAGE" },
  { backend: "modal", image: "IMAGE" },
  { backend: "daytona", image: "IMAGE" },
  { backend: "vercel" },
];

/** A line for each backend; a finding only for what a job or config.yaml uses and cannot have. */
export async function environmentFindings(
  context: Context,
): Promise<{ findings: Finding[]; checked: string[] }> {
  const { backendState } = await import("../execute/environments/backend-state.ts");
  const checked: string[] = [];
  for (const spec of SAMPLES) {
    const state = await backendState(checkDepsOf(context), spec);
    const name = spec.backend === "local" && spec.sandbox ? "local in bubblewrap" : spec.backend;
    checked.push(
      state.usable
        ? `environment ${name}: usable${state.notes.length > 0 ? ` (${state.notes.join("; ")})` : ""}`
        : `environment ${name}: not usable: ${state.why}. ${state.hint}`,
    );
  }
  const broken = (await listEnvironments(context)).filter(({ isUsable }) => !isUsable);
  const findings = broken.map(({ name, why, hint, usedBy }): Finding => {
    const users = usedBy.length > 0 ? `, needed by ${usedBy.join(", ")},` : "";
    return {
      code: "environmentUnusable",
      what: `Environment ${name}${users} cannot be used: ${why}.`,
      todo: hint ?? "",
    };
  });
  return { findings, checked };
}

export type ExecHere = Pick<ExecOptions, "onOutput" | "signal" | "timeoutMs"> & {
  /** Shell text. */
  command: string;
  /** The folder that is brought along: absolute. */
  workdir: string;
};

/** One command in a fresh environment of that name, ended with it. Throws `input.invalid`, `environment.*`. */
export async function execIn(context: Context, name: string, options: ExecHere): Promise<CommandResult> {
  const { clock, random, log, home, env: nodeEnv } = context;
  const spec = parseEnvironmentSpec(name, context.config.environments);
  const id = makeId(clock.now(), random);
  const run = { id, jobId: undefined, slot: undefined, attempt: 1, idempotencyKey: id, parentId: undefined };
  const env = commandEnv({ nodeEnv, jobEnv: {}, timezone: context.zone, run, lineage: { depth: 0 } });
  const tempFolder = join(agentTempFolder(home.paths), id);
  await mkdir(tempFolder, { recursive: true, mode: 0o700 });
  const pipes = makePipePool(home.paths.runFolder);
  try {
    const environment = await openEnvironment(
      {
        ...{ clock, log, env, nodeEnv, tempFolder, pipes, jobEnvNames: [], workdir: options.workdir },
        variable: context.variable,
        newId: () => makeId(clock.now(), random),
        signal: options.signal,
      },
      spec,
    );
    try {
      const { signal, timeoutMs = 0, onOutput } = options;
      return await environment.exec(options.command, { signal, timeoutMs, ...(onOutput && { onOutput }) });
    } finally {
      const { survivors } = await environment.dispose();
      if (survivors > 0) log.warn("processes-outlived-command", { id, survivors });
    }
  } finally {
    await pipes.close();
    await rm(tempFolder, { recursive: true, force: true });
  }
}
