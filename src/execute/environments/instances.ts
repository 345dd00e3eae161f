// The instances that are there, and those that were left behind: found by name, stopped, their logs removed.
//
// I1. Stopped are those whose owner is provably gone (instance-names.ts), and those of runs that were taken over: their claim
//     is ours alone (law 3). Others' instances are never touched.
// I2. Apptainer keeps two log files for each instance, for ever: ours go with it.

import { readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { readHost } from "../host.ts";
import { isInstanceOrphaned, parseInstanceName } from "./instance-names.ts";
import type { CheckDeps } from "./place.ts";
import { runClient } from "./run-client.ts";
import { listWords, singularityEnv, stopWords } from "./singularity-arguments.ts";

const TIMEOUT_MS = 60_000;

/** Names of this user's on this machine, or the one of that name. Undefined = the program does not say. */
export async function listInstances(
  deps: CheckDeps,
  program: string,
  name?: string,
): Promise<string[] | undefined> {
  const answer = await call(deps, [program, ...listWords(name)]);
  if (answer?.exitCode !== 0) return undefined;
  try {
    const { instances } = JSON.parse(answer.stdout) as { instances: { instance: unknown }[] };
    return instances.map((one) => String(one.instance));
  } catch {
    return undefined;
  }
}

/** Ends it with all that runs in it. True = it is gone. */
export async function stopInstance(deps: CheckDeps, program: string, name: string): Promise<boolean> {
  const stopped = await call(deps, [program, ...stopWords(name)]);
  const isGone = stopped?.exitCode === 0 || (await listInstances(deps, program, name))?.length === 0;
  if (isGone) await removeLogs(deps.nodeEnv, (one) => one === name);
  return isGone;
}

/** Stops orphaned instances (I1). Returns their names. A program that does not answer has none. */
export async function reapInstances(deps: CheckDeps, program: string): Promise<string[]> {
  const host = readHost();
  const isLeft = (name: string) => {
    const parsed = parseInstanceName(name);
    return parsed !== undefined && isInstanceOrphaned(parsed, host);
  };
  const stopped = await stopAll(deps, program, isLeft);
  await removeLogs(deps.nodeEnv, isLeft);
  return stopped;
}

/** Stops the instances of runs that were taken over; answers which. */
export async function stopInstancesOf(
  deps: CheckDeps,
  program: string,
  runIds: ReadonlySet<string>,
): Promise<{ runId: string; name: string }[]> {
  const runOf = (name: string) => parseInstanceName(name)?.runId ?? "";
  const stopped = await stopAll(deps, program, (name) => runIds.has(runOf(name)));
  return stopped.map((name) => ({ runId: runOf(name), name }));
}

async function stopAll(
  deps: CheckDeps,
  program: string,
  isWanted: (name: string) => boolean,
): Promise<string[]> {
  const stopped: string[] = [];
  for (const name of (await listInstances(deps, program)) ?? [])
    if (isWanted(name) && (await stopInstance(deps, program, name))) stopped.push(name);
  return stopped;
}

function call({ clock, nodeEnv }: CheckDeps, argv: readonly string[]) {
  return runClient(clock, { argv, env: singularityEnv(nodeEnv), timeoutMs: TIMEOUT_MS }).catch(
    () => undefined,
  );
}

/** Also of instances that ended by themselves, or with the machine: no list has those. */
async function removeLogs(nodeEnv: CheckDeps["nodeEnv"], isWanted: (name: string) => boolean): Promise<void> {
  for (const folder of configFolders(nodeEnv)) {
    const root = join(folder, "instances", "logs", hostname());
    for (const file of await readdir(root, { recursive: true }).catch(() => [])) {
      const name = /^(.+)\.(?:err|out)$/.exec(basename(file))?.[1];
      if (name !== undefined && isWanted(name)) await rm(join(root, file), { force: true });
    }
  }
}

function configFolders({ APPTAINER_CONFIGDIR, SINGULARITY_CONFIGDIR, HOME }: CheckDeps["nodeEnv"]): string[] {
  const home = HOME || "/";
  return [
    APPTAINER_CONFIGDIR || join(home, ".apptainer"),
    SINGULARITY_CONFIGDIR || join(home, ".singularity"),
  ];
}
