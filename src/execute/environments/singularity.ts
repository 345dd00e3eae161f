// The singularity backend: one contained instance for the environment, by the command line of Apptainer or Singularity.
//
// I1. The image is there before anything is started (singularity-image.ts).
// I2. `network: none` fails closed: what runs is asked for its network, and stopped when it has one.
// I3. An instance that did not start as it should is stopped by its name, which is given at its start and says whose it is.
// I4. A time-out ends processes inside (end-inside.ts), never only the client.
// I5. Limits are Apptainer's where it can set them; else control groups of ours, which its programs join before they start,
//     or ulimit inside. What cannot be had is in the log.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { Environment } from "../../records/environment.ts";
import { formatEnvironment, type SingularitySpec } from "../../records/environment-spec.ts";
import type { CommandExit } from "../spawn-held.ts";
import { cpuArgv, endArgv, numberOf } from "./end-inside.ts";
import { exportsOf, travellingEnv } from "./env-file.ts";
import { instanceName } from "./instance-names.ts";
import { listInstances, stopInstance } from "./instances.ts";
import { launchProcess } from "./launch-process.ts";
import { launchTerminal } from "./launch-terminal.ts";
import { type AppliedLimits, applyLimits } from "./limits.ts";
import type { EnvironmentDeps, Launched, LaunchRequest, Place } from "./place.ts";
import { type ClientAnswer, lastLine, runClient } from "./run-client.ts";
import { makeShellEnvironment } from "./shell-environment.ts";
import {
  enterWords,
  type InstanceRequest,
  singularityEnv,
  startWords,
  WORKSPACE,
} from "./singularity-arguments.ts";
import { findSingularity } from "./singularity-check.ts";
import { haveImage } from "./singularity-image.ts";

/** @source upstream.md 1.11 */
const START_TIMEOUT_MS = 120_000;
const ANSWER_TIMEOUT_MS = 30_000;

/** Opens an instance. Throws Fault `environment.unusable` (program, image, shell, network) or `environment.broken`. */
export async function openSingularity(deps: EnvironmentDeps, spec: SingularitySpec): Promise<Environment> {
  const program = await findSingularity(deps.nodeEnv);
  const environmentId = deps.newId();
  const instance: Instance = {
    deps,
    program,
    spec,
    environmentId,
    label: formatEnvironment(spec),
    name: instanceName({ runId: deps.env.NIGHTSHIFT_RUN_ID ?? "", environmentId }),
    scratch: join(deps.tempFolder, `instance-${environmentId.slice(-8)}`),
    image: await haveImage(deps, program, spec),
    limits: undefined,
  };
  try {
    await mkdir(instance.scratch, { recursive: true, mode: 0o700 });
    await start(instance);
    return makeShellEnvironment(deps, await makePlace(instance));
  } catch (error) {
    await close(instance);
    throw error;
  }
}

interface Instance {
  deps: EnvironmentDeps;
  program: string;
  spec: SingularitySpec;
  environmentId: string;
  label: string;
  name: string;
  image: string;
  /** On this machine: what stands behind /tmp inside. */
  scratch: string;
  /** Ours, where Apptainer has none. */
  limits: AppliedLimits | undefined;
}

async function start(instance: Instance): Promise<void> {
  const { deps, spec, name, image, scratch } = instance;
  const { workdir } = deps;
  const wanted = Object.values(spec.limits ?? {}).some((limit) => limit !== undefined);
  const request = { name, image, spec, workdir, scratch, overlay: await overlayFolder(deps, spec) };
  const first = await tryStart(instance, { ...request, withLimits: wanted });
  if (first.exitCode === 0) return;
  if (!wanted) throw notStarted(instance, first);
  // Its own limits need systemd, or a setting of the machine's owner: ours stand in for them (I5).
  instance.limits = await applyLimits(spec.limits ?? {}, instance.environmentId);
  const second = await tryStart(instance, { ...request, withLimits: false });
  if (second.exitCode !== 0) throw notStarted(instance, second);
  const { enforced, notEnforced } = instance.limits.report;
  deps.log[notEnforced.length > 0 ? "warn" : "info"]("instance-limits", { name, enforced, notEnforced });
}

function tryStart(instance: Instance, request: InstanceRequest): Promise<ClientAnswer> {
  return runClient(instance.deps.clock, {
    argv: joined(instance, startWords(request)),
    env: singularityEnv(instance.deps.nodeEnv),
    timeoutMs: START_TIMEOUT_MS,
    ...(instance.deps.signal && { signal: instance.deps.signal }),
  });
}

/** Where a shared environment keeps what is written to the image; a run's own goes with the instance. */
async function overlayFolder(deps: EnvironmentDeps, spec: SingularitySpec): Promise<string | undefined> {
  if (!spec.persist || deps.keptFolder === undefined) return undefined;
  const folder = join(deps.keptFolder, "overlay");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function notStarted({ spec }: Instance, answer: ClientAnswer): Fault {
  const hint = spec.persist
    ? "Keep files where overlays can be (a local disk, user namespaces), or leave `persist` out."
    : "Use an image that Apptainer can start, and what this user may do here.";
  return new Fault(
    "environment.unusable",
    `no instance of ${spec.image} could be started: ${lastLine(answer)}`,
    {
      hint,
    },
  );
}

/** The program and its words; in our control groups, where there are any. */
function joined({ program, limits }: Instance, words: readonly string[]): string[] {
  const groups = limits?.joinGroups ?? "";
  return [...(groups === "" ? [] : ["/bin/sh", "-c", `${groups}\nexec "$@"`, "sh"]), program, ...words];
}

/** A command inside; under ulimit where control groups cannot be had. */
function entering(instance: Instance, argv: readonly string[]): string[] {
  const ulimits = instance.limits?.ulimits ?? "";
  const limited = ulimits === "" ? argv : ["sh", "-c", `${ulimits}\nexec "$@"`, "sh", ...argv];
  return joined(instance, enterWords(instance.name, limited));
}

function runInside(instance: Instance, argv: readonly string[], stdin?: string): Promise<ClientAnswer> {
  return runClient(instance.deps.clock, {
    argv: joined(instance, enterWords(instance.name, argv)),
    env: singularityEnv(instance.deps.nodeEnv),
    timeoutMs: ANSWER_TIMEOUT_MS,
    ...(stdin !== undefined && { stdin }),
  });
}

/** Prints the network's devices, then the shell; makes the state folder, a home, and the variables' file (from stdin). */
const PREPARE = `umask 077
mkdir -p "$1" || exit 1
home=/home/nightshift
mkdir -p "$home" 2>/dev/null || { home=/tmp/home; mkdir -p "$home" || exit 1; }
{ echo "export HOME='$home'"; cat; } >"$1/env" || exit 1
while read -r device rest; do case $device in *:*) echo "\${device%%:*}" ;; esac; done </proc/net/dev
command -v bash || command -v sh
cd "$2" || exit 1`;

async function makePlace(instance: Instance): Promise<Place> {
  const { deps, spec, environmentId, label } = instance;
  const stateFolder = `/tmp/.nightshift-${environmentId}`;
  const marks = { ...travellingEnv(deps.env, deps.jobEnvNames), NIGHTSHIFT_ENVIRONMENT_ID: environmentId };
  const prepare = ["sh", "-c", PREPARE, "sh", stateFolder, WORKSPACE];
  const prepared = await runInside(instance, prepare, exportsOf(marks));
  const devices = prepared.stdout.trim().split("\n");
  const shell = devices.pop() ?? "";
  if (prepared.exitCode !== 0 || !/^(?:\/\S+|sh)$/.test(shell))
    throw new Fault("environment.unusable", `${label} cannot run commands: ${lastLine(prepared)}`, {
      hint: "Use an image that has sh, cat, tr and mkdir.",
    });
  if (spec.network === "none" && devices.some((device) => device !== "lo"))
    throw new Fault("environment.unusable", `${label} has a network although none was asked for`, {
      hint: "Look at Apptainer's own configuration.",
    });
  return {
    backend: "singularity",
    label,
    environmentId,
    shell,
    isBash: shell.endsWith("/bash"),
    cwd: WORKSPACE,
    stateFolder,
    launch: (request) => launchInside(instance, stateFolder, request),
    async end(callId, { graceMs, launched }) {
      const answer = await runInside(instance, endArgv(callId, graceMs));
      const survivors = answer.exitCode === 0 ? numberOf(answer.stdout) : undefined;
      // It could not even be asked for (nothing left to fork): the instance ends.
      if (survivors === undefined) await stopInstance(deps, instance.program, instance.name);
      launched.drop();
      return { survivors: survivors ?? 0 };
    },
    cpuMs: async (callId) => numberOf((await runInside(instance, cpuArgv(callId))).stdout),
    whyLost: (exit) => whyLost(instance, exit),
    close: () => close(instance),
  };
}

async function launchInside(
  instance: Instance,
  stateFolder: string,
  { argv, callId, env, hasStdin, pty }: LaunchRequest,
): Promise<Launched> {
  const { deps, environmentId } = instance;
  if (Object.keys(env).length > 0) {
    const write = ["sh", "-c", 'umask 077; cat >"$1"', "sh", `${stateFolder}/env.${callId}`];
    await runInside(instance, write, exportsOf(env));
  }
  const marks = [
    `NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID ?? ""}`,
    `NIGHTSHIFT_ENVIRONMENT_ID=${environmentId}`,
    `NIGHTSHIFT_CALL_ID=${callId}`,
  ];
  const launch = {
    argv: entering(instance, ["env", ...marks, ...argv]),
    env: singularityEnv(deps.nodeEnv),
  };
  return pty
    ? launchTerminal({ ...launch, ...pty })
    : launchProcess({ ...launch, hasStdin, pipes: deps.pipes });
}

/** Between an instance's death and the moment its program says so; looked at so often. */
const TELL_TURNS = 20;
const TELL_MS = 100;

/**
 * A client that was inside dies with the instance before the list knows of it, so the instance itself is asked: nothing
 * starts in it from the moment its first process dies. One that only has no room for a process is listed still.
 */
async function whyLost(instance: Instance, exit: CommandExit): Promise<Error | undefined> {
  if (exit.exitCode === 0) return undefined;
  const { deps, program, name, label } = instance;
  for (let turn = 0; turn < TELL_TURNS; turn++) {
    if ((await runInside(instance, ["sh", "-c", ":"])).exitCode === 0) return undefined;
    if ((await listInstances(deps, program, name))?.length === 0)
      return new Fault("environment.broken", `the instance of ${label} is gone`, {
        hint: "Look at the machine and at the limits; the command may have run in part.",
        retry: "later",
      });
    await deps.clock.sleep(TELL_MS, new AbortController().signal);
  }
  return undefined;
}

async function close(instance: Instance): Promise<{ survivors: number }> {
  const { deps, program, name, scratch, limits } = instance;
  const isGone = await stopInstance(deps, program, name);
  if (!isGone) deps.log.warn("instance-not-stopped", { name });
  await limits?.remove();
  if (isGone)
    await rm(scratch, { recursive: true, force: true }).catch((error: unknown) =>
      deps.log.warn("instance-folder-not-removed", { name, error: String(error) }),
    );
  return { survivors: isGone ? 0 : 1 };
}
