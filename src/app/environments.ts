// Which environment a job means, and whether it can be had here (DESIGN §8, law 8).
//
// I1. A job whose environment cannot be used is refused when it is made and blocked when it is due: nothing ever runs in
//     another place than the one it names.

import { requireUsable } from "../execute/environments/index.ts";
import { isOnPath, missingProgram } from "../execute/environments/programs.ts";
import type { RunContainer } from "../execute/environments/reap-containers.ts";
import { prepareForElsewhere, prepareScript, type ScriptWork } from "../execute/prepare-script.ts";
import { Fault } from "../kernel/errors.ts";
import {
  type EnvironmentSpec,
  formatEnvironment,
  parseEnvironmentSpec,
} from "../records/environment-spec.ts";
import type { Job } from "../records/job.ts";
import { checkDepsOf } from "./check-deps.ts";
import { type Clouds, reapClouds } from "./cloud-environments.ts";
import type { Context } from "./context.ts";

/** Reads a job's environment, or a name from config.yaml. Throws `input.invalid`. */
export function environmentOf(
  { config }: Pick<Context, "config">,
  { environment }: Pick<Job, "environment">,
): EnvironmentSpec {
  return parseEnvironmentSpec(environment, config.environments);
}

/** This machine as it is: no sandbox and no limits. */
export function isPlainLocal(spec: EnvironmentSpec): boolean {
  return spec.backend === "local" && !spec.sandbox && !spec.limits && (spec.scope ?? "run") === "run";
}

/** Throws `input.invalid` or `environment.unusable`, with what to do about it. */
export async function requireEnvironment(context: Context, job: Job): Promise<EnvironmentSpec> {
  const spec = environmentOf(context, job);
  if (!isPlainLocal(spec)) await requireUsable(checkDepsOf(context), spec);
  return spec;
}

/** A script and the place it runs in. Throws `script.*`, `job.invalid`, `input.invalid`, `environment.unusable`. */
export async function checkScriptPlace(
  context: Context,
  job: Job,
  script: Pick<ScriptWork, "script" | "args">,
): Promise<void> {
  const { workdir, env, timezone } = job;
  const work = { ...script, workdir, env, timezone };
  const isHere = isPlainLocal(environmentOf(context, job));
  // Which interpreters another place has is only known inside.
  await (isHere ? prepareScript(context.scriptPlace, work) : prepareForElsewhere(context.scriptPlace, work));
  await requireEnvironment(context, job);
}

/**
 * Removes the containers, instances, sockets and sandboxes of nodes that died (hermes#75467), by whichever engines are
 * installed and at the services this home uses. Returns their names. Who does not answer has none; never throws.
 */
export async function reapEnvironments(context: Clouds): Promise<string[]> {
  const { env, clock, log } = context;
  const { reapContainers } = await import("../execute/environments/reap-containers.ts");
  const removed: string[] = [];
  for (const engine of enginesAlong(env.PATH))
    removed.push(...(await reapContainers({ nodeEnv: env, clock }, engine)));
  const program = instancesAlong(env.PATH);
  if (program) {
    const { reapInstances } = await import("../execute/environments/instances.ts");
    removed.push(...(await reapInstances({ nodeEnv: env, clock }, program)));
  }
  const { reapSocketFolders } = await import("../execute/environments/ssh-sockets.ts");
  removed.push(...(await reapSocketFolders()), ...(await reapClouds(context)));
  if (removed.length > 0) log.info("containers-reaped", { removed });
  return removed;
}

/** Removes the containers and instances of runs that were taken over, as `reapEnvironments` does. Never throws. */
export async function endContainersOf(
  { env, clock }: Pick<Context, "env" | "clock">,
  runIds: readonly string[],
): Promise<RunContainer[]> {
  const [engines, program] = [enginesAlong(env.PATH), instancesAlong(env.PATH)];
  if (runIds.length === 0) return [];
  const [deps, ids] = [{ nodeEnv: env, clock }, new Set(runIds)];
  const removed: Promise<RunContainer[]>[] = [];
  if (engines.length > 0) {
    const { removeContainersOf } = await import("../execute/environments/reap-containers.ts");
    removed.push(...engines.map((engine) => removeContainersOf(deps, engine, ids)));
  }
  if (program) {
    const { stopInstancesOf } = await import("../execute/environments/instances.ts");
    removed.push(stopInstancesOf(deps, program, ids));
  }
  return (await Promise.all(removed)).flat();
}

/** Whether its run may have made a container or an instance: not where the job certainly names another place. */
export function mayHaveContainer(context: Pick<Context, "config">, job: Job | undefined): boolean {
  try {
    return job === undefined || ["docker", "singularity"].includes(environmentOf(context, job).backend);
  } catch {
    // The config has the name no more; what it meant then is not known.
    return true;
  }
}

const enginesAlong = (path: string | undefined) =>
  (["docker", "podman"] as const).filter(
    (engine) => !missingProgram({ backend: "docker", image: "any", engine }, path ?? ""),
  );

const instancesAlong = (path: string | undefined) =>
  (["apptainer", "singularity"] as const).find((program) => isOnPath(program, path ?? ""));

/** A command agent is a program of this machine. Throws `job.invalid` for any other place. */
export function requireThisMachine(context: Context, job: Job): void {
  const spec = environmentOf(context, job);
  if (isPlainLocal(spec)) return;
  throw new Fault("job.invalid", `an agent that is a command cannot run in ${formatEnvironment(spec)}`, {
    hint: "Leave `environment` out, or use an agent with a model.",
  });
}
