// The environment of a run's command: an allow-list, never the node's own (S2, hermes#99635).
//
// I1. NIGHTSHIFT_* is built from the run and cannot be set by a job: the mark must be true (L10).

import { Fault } from "../kernel/errors.ts";
import { formatInstant } from "../kernel/time.ts";
import type { Lineage } from "../records/lineage.ts";
import type { Run } from "../records/run.ts";

/** Used where the node itself has no PATH. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const INHERITED = ["HOME", "USER", "LANG", "TMPDIR"] as const;

export interface CommandEnvOptions {
  /** The node's environment. */
  nodeEnv: Readonly<Record<string, string | undefined>>;
  /** The job's `env`. A value that is exactly `${NAME}` hands over the node's variable of that name. */
  jobEnv: Readonly<Record<string, string>>;
  /** Further variables as they are: nothing in them is followed, and they may begin with NIGHTSHIFT_. */
  literalEnv?: Readonly<Record<string, string>> | undefined;
  /** The job's zone, an IANA name. */
  timezone: string;
  run: Pick<Run, "id" | "jobId" | "slot" | "attempt" | "idempotencyKey" | "parentId">;
  lineage: Pick<Lineage, "depth">;
}

/** PATH HOME USER LANG LC_* TZ TMPDIR, the run's NIGHTSHIFT_* and what the job names. Throws `job.invalid`. */
export function commandEnv(options: CommandEnvOptions): Record<string, string> {
  const env: Record<string, string> = { PATH: options.nodeEnv.PATH || DEFAULT_PATH };
  for (const [name, value] of Object.entries(options.nodeEnv)) {
    const isAllowed = (INHERITED as readonly string[]).includes(name) || name.startsWith("LC_");
    if (isAllowed && value !== undefined) env[name] = value;
  }
  env.TZ = options.timezone;
  for (const [name, value] of Object.entries(options.jobEnv))
    env[name] = jobValue(name, value, options.nodeEnv);
  for (const [name, value] of Object.entries(options.literalEnv ?? {})) env[name] = literalValue(name, value);
  return { ...env, ...lineageEnv(options) };
}

function literalValue(name: string, value: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new Fault("job.invalid", `env: ${JSON.stringify(name)} is not a variable's name`, {
      hint: "Use letters, digits and _, not starting with a digit.",
    });
  if (value.includes("\0"))
    throw new Fault("job.invalid", `env: ${name} holds a NUL byte`, { hint: "Remove it." });
  return value;
}

/** @internal A job's own variable: not one of ours, and `${NAME}` stands for the node's. Throws `job.invalid`. */
export function jobValue(name: string, value: string, nodeEnv: CommandEnvOptions["nodeEnv"]): string {
  if (name.startsWith("NIGHTSHIFT_"))
    throw new Fault("job.invalid", `env: ${name} belongs to Nightshift`, {
      hint: "Choose a name that does not start with NIGHTSHIFT_.",
    });
  literalValue(name, value);
  const reference = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value)?.[1];
  if (reference === undefined) return value;
  const handed = nodeEnv[reference];
  if (handed === undefined)
    throw new Fault("job.invalid", `env: ${name} asks for ${reference}, which this node does not have`, {
      hint: `Set ${reference} in the home's .env or in the node's environment.`,
    });
  return handed;
}

/** What a sub-process may know of its run (DESIGN §10). */
function lineageEnv({ run, lineage }: CommandEnvOptions): Record<string, string> {
  const facts: Record<string, string | undefined> = {
    NIGHTSHIFT_JOB_ID: run.jobId,
    NIGHTSHIFT_RUN_ID: run.id,
    NIGHTSHIFT_SLOT: run.slot === undefined ? undefined : formatInstant(run.slot),
    NIGHTSHIFT_ATTEMPT: String(run.attempt),
    NIGHTSHIFT_IDEMPOTENCY_KEY: run.idempotencyKey,
    NIGHTSHIFT_PARENT_ID: run.parentId,
    NIGHTSHIFT_DEPTH: String(lineage.depth),
  };
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(facts)) if (value !== undefined) env[name] = value;
  return env;
}
