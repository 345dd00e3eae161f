// The local backend: commands on this machine, each in a process group of its own, with the run's mark.
//
// I1. Local is no boundary by itself: a command may do what the node's user may. `isHidden` and `limits` say what holds.
// I2. What a call left is found by NIGHTSHIFT_CALL_ID, what the environment left by NIGHTSHIFT_ENVIRONMENT_ID, whatever
//     group it moved to; a pid is signalled only while its start time is the known one (terminate.ts).

import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { Environment } from "../../records/environment.ts";
import type { LocalSpec } from "../../records/environment-spec.ts";
import { findCommand } from "../find-command.ts";
import { groupCpuMs, hasVariable, listProcesses } from "../process-table.ts";
import { endMarked } from "../terminate.ts";
import { standWalls } from "./bubblewrap.ts";
import { launchProcess } from "./launch-process.ts";
import { launchTerminal } from "./launch-terminal.ts";
import { type AppliedLimits, applyLimits, type LimitsReport } from "./limits.ts";
import { localFiles } from "./local-files.ts";
import type { EnvironmentDeps, Launched, LaunchRequest, Place } from "./place.ts";
import { makeShellEnvironment } from "./shell-environment.ts";

export interface LocalOptions {
  /** S1: folders that commands must not see, and what of them they may. */
  hide?: {
    folders: readonly string[];
    /** Writable for commands. */
    except: readonly string[];
    /** What commands may read and not change: instructions that later runs follow. */
    readable?: readonly string[];
  };
}

export interface LocalEnvironment extends Environment {
  /** Whether `hide` holds. False = nothing was asked for, or bubblewrap cannot work here. */
  isHidden: boolean;
  /** Why it does not, where it was asked for. */
  whyNotHidden: string | undefined;
  limits: LimitsReport;
}

interface Walled {
  /** Words in front of every command; empty = none. */
  prefix: readonly string[];
  isHidden: boolean;
  whyNotHidden: string | undefined;
}

/**
 * Opens the local environment in `deps.workdir`. Throws `environment.unusable` when the folder is not there, or when a
 * sandbox was asked for and cannot be had; hiding that cannot be had is reported instead (S1).
 */
export async function openLocal(
  deps: EnvironmentDeps,
  spec: LocalSpec = { backend: "local" },
  options: LocalOptions = {},
): Promise<LocalEnvironment> {
  const isFolder = await stat(deps.workdir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    throw new Fault("environment.unusable", `the working folder ${deps.workdir} does not exist`, {
      hint: "Make the folder, or name another one as workdir.",
    });
  const environmentId = deps.newId();
  const stateFolder = join(deps.tempFolder, `environment-${environmentId}`);
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  try {
    const walled = await wallsFor(deps, { spec, options, stateFolder });
    const limits = await applyLimits(spec.limits ?? {}, environmentId);
    const bash = await findCommand("bash", deps.env.PATH ?? "");
    const place = makePlace(deps, {
      environmentId,
      stateFolder,
      walled,
      limits,
      bash: bash.kind === "found" ? bash.path : undefined,
    });
    const { isHidden, whyNotHidden } = walled;
    return { ...makeShellEnvironment(deps, place), isHidden, whyNotHidden, limits: limits.report };
  } catch (error) {
    await rm(stateFolder, { recursive: true, force: true });
    throw error;
  }
}

async function wallsFor(
  deps: EnvironmentDeps,
  { spec, options, stateFolder }: { spec: LocalSpec; options: LocalOptions; stateFolder: string },
): Promise<Walled> {
  const { hide } = options;
  if (!hide && !spec.sandbox) return { prefix: [], isHidden: false, whyNotHidden: undefined };
  const privateTmp = join(stateFolder, "tmp");
  if (spec.sandbox) await mkdir(privateTmp, { mode: 0o700 });
  const { prefix, why } = await standWalls(
    {
      kind: spec.sandbox ? "sandbox" : "hide",
      hidden: hide?.folders ?? [],
      shown: [deps.workdir, stateFolder, ...(hide?.except ?? [])],
      readable: hide?.readable ?? [],
      ...(spec.sandbox && { privateTmp }),
    },
    { env: deps.env, probe: deps.probeWalls },
  );
  if (why && spec.sandbox)
    throw new Fault("environment.unusable", `the sandbox of \`local\` cannot be had: ${why}`, {
      hint: "Install bubblewrap, allow user namespaces, or use a container (docker:IMAGE).",
    });
  return { prefix, isHidden: why === undefined && hide !== undefined, whyNotHidden: why };
}

interface Parts {
  environmentId: string;
  stateFolder: string;
  walled: Walled;
  limits: AppliedLimits;
  bash: string | undefined;
}

function makePlace(deps: EnvironmentDeps, parts: Parts): Place {
  const { environmentId, stateFolder, walled, limits, bash } = parts;
  const isWalled = walled.prefix.length > 0;
  /** Nothing was launched, nothing can be left: looking through every process of the machine is dear. */
  let hasLaunched = false;
  const knownOf = ({ pid, startTime }: Launched) =>
    pid === undefined ? [] : [{ pid, startTime, processGroup: pid }];
  return {
    backend: "local",
    label: "local",
    environmentId,
    shell: bash ?? "/bin/sh",
    isBash: bash !== undefined,
    cwd: deps.workdir,
    stateFolder,
    launch(request) {
      hasLaunched = true;
      return launchLocal(deps, parts, request);
    },
    async end(callId, { graceMs, launched }) {
      const mark = `NIGHTSHIFT_CALL_ID=${callId}`;
      const { survivors } = await endMarked(deps, { mark, known: knownOf(launched), graceMs });
      return { survivors: survivors.length };
    },
    async cpuMs(callId, { pid }) {
      return isWalled || pid === undefined ? markedCpuMs(`NIGHTSHIFT_CALL_ID=${callId}`) : groupCpuMs(pid);
    },
    whyLost: async () => undefined,
    // Behind walls files are reached from behind them too: one truth about what is hidden.
    ...(!isWalled && { files: localFiles(deps.newId) }),
    async close({ graceMs }) {
      const left = hasLaunched ? await endLeft(deps, environmentId, graceMs) : 0;
      await limits.remove();
      await rm(stateFolder, { recursive: true, force: true });
      return { survivors: left };
    },
  };
}

/** How many would not go. */
async function endLeft(deps: EnvironmentDeps, environmentId: string, graceMs: number): Promise<number> {
  const mark = `NIGHTSHIFT_ENVIRONMENT_ID=${environmentId}`;
  const { survivors } = await endMarked(deps, { mark, known: [], graceMs });
  return survivors.length;
}

async function launchLocal(
  deps: EnvironmentDeps,
  { environmentId, walled, limits }: Parts,
  { argv, callId, env, hasStdin, pty }: LaunchRequest,
): Promise<Launched> {
  const marked = {
    ...deps.env,
    ...env,
    NIGHTSHIFT_ENVIRONMENT_ID: environmentId,
    NIGHTSHIFT_CALL_ID: callId,
  };
  const joined = limits.join ? ["/bin/sh", "-c", `${limits.join}\nexec "$@"`, "sh"] : [];
  const whole = [...joined, ...walled.prefix, ...argv];
  if (pty) return launchTerminal({ argv: whole, env: marked, ...pty });
  return launchProcess({ argv: whole, env: marked, hasStdin, pipes: deps.pipes });
}

function markedCpuMs(mark: string): number {
  return listProcesses()
    .filter((entry) => !entry.isZombie && hasVariable(entry.pid, mark))
    .reduce((sum, entry) => sum + entry.cpuMs, 0);
}
