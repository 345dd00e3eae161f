// The docker backend: one container for the environment, by the command line of docker or podman.
//
// I1. The image is there before anything is made: inspected, then fetched unless the spec says never.
// I2. `network: none` fails closed: what runs is asked for its network, and removed when that is another one.
// I3. A container that did not start is removed by its name (hermes#7439); the name and labels are given at creation.
// I4. A time-out ends processes inside (end-inside.ts), never only the client (hermes#84967).

import { Fault } from "../../kernel/errors.ts";
import type { Environment } from "../../records/environment.ts";
import { type DockerSpec, formatEnvironment } from "../../records/environment-spec.ts";
import type { CommandExit } from "../spawn-held.ts";
import { containerName, keptVolume, runArguments, WORKSPACE } from "./docker-arguments.ts";
import { ANSWER_TIMEOUT_MS, findEngine, START_HINT } from "./docker-check.ts";
import { cpuArgv, endArgv, numberOf } from "./end-inside.ts";
import { clientEnv, exportsOf, travellingEnv } from "./env-file.ts";
import { launchProcess } from "./launch-process.ts";
import { launchTerminal } from "./launch-terminal.ts";
import {
  type EnvironmentDeps,
  type Launched,
  type LaunchRequest,
  type Place,
  RETURN_WAITS_MS,
} from "./place.ts";
import { ownerLabel } from "./reap-containers.ts";
import { type ClientAnswer, lastLine, runClient } from "./run-client.ts";
import { makeShellEnvironment } from "./shell-environment.ts";

/** @source upstream.md 1.11 and DESIGN §13 */
const START_TIMEOUT_MS = 120_000;
const PULL_TIMEOUT_MS = 600_000;

/** Opens a container. Throws Fault `environment.unusable` (engine, image, shell) or `environment.broken`. */
export async function openDocker(deps: EnvironmentDeps, spec: DockerSpec): Promise<Environment> {
  const engine = await findEngine(deps.nodeEnv, spec);
  const docker: Docker = {
    engine,
    spec,
    label: formatEnvironment(spec),
    environmentId: deps.newId(),
    run: (args, options) =>
      runClient(deps.clock, {
        argv: [engine, ...args],
        env: clientEnv(deps.nodeEnv),
        timeoutMs: ANSWER_TIMEOUT_MS,
        ...options,
      }),
  };
  await haveImage(docker, deps.signal);
  try {
    await startContainer(deps, docker);
    return makeShellEnvironment(deps, await makePlace(deps, docker));
  } catch (error) {
    // The engine may have gone between making it and answering for it: what it made is still ours to remove.
    await removeContainer(deps, docker.run, containerName(docker.environmentId));
    throw error;
  }
}

interface Docker {
  engine: string;
  spec: DockerSpec;
  label: string;
  environmentId: string;
  run(
    args: string[],
    options?: { timeoutMs?: number; stdin?: string; signal?: AbortSignal },
  ): Promise<ClientAnswer>;
}

async function haveImage(docker: Docker, signal: AbortSignal | undefined): Promise<void> {
  const { spec, engine } = docker;
  const inspected = await docker.run(["image", "inspect", "--format", "{{.Id}}", "--", spec.image]);
  if (inspected.exitCode === 0) return;
  const version = await docker.run(["version", "--format", "{{.Server.Version}}"]);
  if (version.exitCode !== 0)
    throw new Fault("environment.unusable", `${engine} does not answer: ${lastLine(version)}`, {
      hint: START_HINT,
      retry: "later",
    });
  const pulled =
    spec.pull === "never"
      ? undefined
      : await docker.run(["pull", "--", spec.image], {
          timeoutMs: PULL_TIMEOUT_MS,
          ...(signal && { signal }),
        });
  if (pulled?.exitCode === 0) return;
  throw new Fault(
    "environment.unusable",
    `the image ${spec.image} is not here${pulled ? ` and cannot be fetched: ${lastLine(pulled)}` : ""}`,
    { hint: `Correct its name, or run ${engine} pull ${spec.image}.`, retry: pulled ? "later" : "never" },
  );
}

async function startContainer(deps: EnvironmentDeps, docker: Docker): Promise<void> {
  const { spec, environmentId } = docker;
  const started = await docker.run(
    runArguments({
      environmentId,
      spec,
      runId: deps.env.NIGHTSHIFT_RUN_ID ?? "",
      scopeKey: deps.scopeKey,
      owner: ownerLabel(),
      workdir: deps.workdir,
    }),
    { timeoutMs: START_TIMEOUT_MS },
  );
  if (started.exitCode !== 0)
    throw new Fault(
      "environment.unusable",
      `no container of ${spec.image} could be started: ${lastLine(started)}`,
      {
        hint: "Use an image that has sh, and limits that this machine can give.",
      },
    );
  if (spec.network !== "none") return;
  const network = await docker.run([
    "inspect",
    "--format",
    "{{.HostConfig.NetworkMode}}",
    containerName(environmentId),
  ]);
  if (network.stdout.trim() !== "none")
    throw new Fault(
      "environment.unusable",
      `the container of ${spec.image} has a network although none was asked for`,
      {
        hint: "Look at the engine's own configuration.",
      },
    );
}

/** Prints the shell and the user's number after making the state folder and the variables' file (from stdin). */
const PREPARE = `umask 077
mkdir -p "$1" || exit 1
cat >"$1/env" || exit 1
command -v bash || command -v sh
cd "$2" || exit 1`;

async function makePlace(deps: EnvironmentDeps, docker: Docker): Promise<Place> {
  const { environmentId, label } = docker;
  const container = containerName(environmentId);
  const stateFolder = `/tmp/.nightshift-${environmentId}`;
  const marks = { ...travellingEnv(deps.env, deps.jobEnvNames), NIGHTSHIFT_ENVIRONMENT_ID: environmentId };
  const inside = (argv: readonly string[], stdin?: string) =>
    docker.run(["exec", ...(stdin === undefined ? [] : ["--interactive"]), container, ...argv], {
      ...(stdin !== undefined && { stdin }),
    });
  const prepared = await inside(["sh", "-c", PREPARE, "sh", stateFolder, WORKSPACE], exportsOf(marks));
  const shell = prepared.stdout.trim().split("\n").at(-1) ?? "";
  if (prepared.exitCode !== 0 || !/^(?:\/\S+|sh)$/.test(shell))
    throw new Fault("environment.unusable", `${label} cannot run commands: ${lastLine(prepared)}`, {
      hint: "Use an image that has sh, cat and mkdir, and a user who may enter /workspace.",
    });
  return {
    backend: "docker",
    label,
    environmentId,
    shell,
    isBash: shell.endsWith("/bash"),
    cwd: WORKSPACE,
    stateFolder,
    launch: (request) => launchInside({ deps, docker, container, stateFolder, inside }, request),
    async end(callId, { graceMs, launched }) {
      const answer = await inside(endArgv(callId, graceMs));
      const survivors = answer.exitCode === 0 ? numberOf(answer.stdout) : undefined;
      // It could not even be asked for (nothing left to fork, a frozen container): the container ends.
      if (survivors === undefined) await docker.run(["kill", container]);
      launched.drop();
      return { survivors: survivors ?? 0 };
    },
    cpuMs: async (callId) => numberOf((await inside(cpuArgv(callId))).stdout),
    whyLost: (exit) => whyLost({ docker, container, inside }, exit),
    close: () => closeContainer(deps, docker, container),
  };
}

interface Inside {
  deps: EnvironmentDeps;
  docker: Docker;
  container: string;
  stateFolder: string;
  inside(argv: readonly string[], stdin?: string): Promise<ClientAnswer>;
}

async function launchInside(
  { deps, docker, container, stateFolder, inside }: Inside,
  { argv, callId, env, hasStdin, pty }: LaunchRequest,
): Promise<Launched> {
  if (Object.keys(env).length > 0)
    await inside(["sh", "-c", 'umask 077; cat >"$1"', "sh", `${stateFolder}/env.${callId}`], exportsOf(env));
  const launch = {
    argv: [
      docker.engine,
      "exec",
      ...(hasStdin || pty ? ["--interactive"] : []),
      ...(pty ? ["--tty"] : []),
      `--env=NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID ?? ""}`,
      `--env=NIGHTSHIFT_ENVIRONMENT_ID=${docker.environmentId}`,
      `--env=NIGHTSHIFT_CALL_ID=${callId}`,
      container,
      ...argv,
    ],
    env: clientEnv(deps.nodeEnv),
  };
  return pty
    ? launchTerminal({ ...launch, ...pty })
    : launchProcess({ ...launch, hasStdin, pipes: deps.pipes });
}

/** For an engine to tell of an end that has happened. */
const TELL_TIMEOUT_MS = 5_000;

/**
 * A client hears of a container's end before the engine says so, so the container itself is asked: the kernel lets nothing
 * start in it from the moment its first process dies. One that only has no room for a process has not ended either.
 */
async function whyLost(
  { docker, container, inside }: Pick<Inside, "docker" | "container" | "inside">,
  exit: CommandExit,
): Promise<Error | undefined> {
  if (exit.exitCode === 0) return undefined;
  const asked = await inside(["sh", "-c", ":"]);
  if (asked.exitCode === 0) return undefined;
  await docker.run(["wait", container], { timeoutMs: TELL_TIMEOUT_MS });
  const why = await whyDead(docker, container);
  return why === undefined ? undefined : goneFault(docker.label, why);
}

/** Undefined = the engine says that it runs. */
async function whyDead({ run, engine }: Docker, container: string): Promise<string | undefined> {
  const format = "{{.State.Running}} {{.State.OOMKilled}} {{.State.ExitCode}}";
  const state = await run(["inspect", "--format", format, container]);
  const [isRunning, wasKilled, code] = state.stdout.trim().split(" ");
  if (isRunning === "true") return undefined;
  if (state.exitCode !== 0) return `${engine} no longer answers for it: ${lastLine(state)}`;
  return wasKilled === "true" ? "it ran out of memory" : `it ended with ${code}`;
}

function goneFault(label: string, why: string): Fault {
  return new Fault("environment.broken", `the container of ${label} is gone: ${why}`, {
    hint: "Look at the engine and at the limits; the command may have run in part.",
    retry: "later",
  });
}

async function closeContainer(
  deps: EnvironmentDeps,
  { run, spec }: Docker,
  container: string,
): Promise<{ survivors: number }> {
  // What root inside made in the run's folder must be the node's to remove.
  const owner = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  if (spec.workdir !== "own" && owner !== "0:0")
    await run(["exec", "--user=0", container, "chown", "-R", owner, WORKSPACE]).catch(() => {});
  const isGone = await removeContainer(deps, run, container);
  const kept = spec.persist ? keptVolume(deps.scopeKey) : undefined;
  if (spec.workdir === "own" && !kept) await run(["volume", "rm", "--force", container]).catch(() => {});
  return { survivors: isGone ? 0 : 1 };
}

/** While an engine does not answer it may be restarting: while we live, nobody else would remove what is ours. */
async function removeContainer(
  deps: EnvironmentDeps,
  run: Docker["run"],
  container: string,
): Promise<boolean> {
  let refusals = 0;
  for (let turn = 0; ; turn++) {
    const removed = await run(["rm", "--force", "--volumes", container]).catch(
      (error: unknown): ClientAnswer => ({ exitCode: undefined, stdout: "", stderr: String(error) }),
    );
    if (removed.exitCode === 0) return true;
    const state = await lookFor(run, container);
    if (state === "absent") return true;
    // It may have come back between the two questions: only a second refusal is one.
    if (state === "there") refusals += 1;
    const waitMs = RETURN_WAITS_MS[turn];
    if (refusals > 1 || waitMs === undefined) {
      deps.log.warn("container-not-removed", { container, error: lastLine(removed) });
      return false;
    }
    await deps.clock.sleep(waitMs, new AbortController().signal);
  }
}

/** What the engine says of it; `unknown` = it does not answer. */
async function lookFor(run: Docker["run"], container: string): Promise<"absent" | "there" | "unknown"> {
  const listed = await run(["ps", "--all", "--quiet", "--filter", `name=^${container}$`]).catch(
    () => undefined,
  );
  if (listed?.exitCode !== 0) return "unknown";
  return listed.stdout.trim() === "" ? "absent" : "there";
}
