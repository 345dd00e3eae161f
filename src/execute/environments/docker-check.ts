// Whether a container can be had here: the engine, its answer, the image. Fetches nothing, makes nothing.

import { Fault } from "../../kernel/errors.ts";
import type { DockerSpec } from "../../records/environment-spec.ts";
import { findCommand } from "../find-command.ts";
import { clientEnv } from "./env-file.ts";
import type { CheckDeps, EnvironmentCheck } from "./place.ts";
import { type ClientAnswer, lastLine, runClient } from "./run-client.ts";

export const ANSWER_TIMEOUT_MS = 30_000;
export const START_HINT = "Start the engine, or let this user talk to it (DOCKER_HOST, the docker group).";

/** Whether the engine answers, whatever the image. */
export async function engineState(deps: CheckDeps, spec: DockerSpec): Promise<EnvironmentCheck> {
  const engine = await findEngine(deps.nodeEnv, spec);
  const version = await askEngine(deps, engine, ["version", "--format", "{{.Server.Version}}"]);
  return version.exitCode === 0
    ? { usable: true, notes: [`${engine} ${version.stdout.trim()}`] }
    : { usable: false, why: `${engine} does not answer: ${lastLine(version)}`, hint: START_HINT };
}

function askEngine(deps: CheckDeps, engine: string, args: readonly string[]): Promise<ClientAnswer> {
  return runClient(deps.clock, {
    argv: [engine, ...args],
    env: clientEnv(deps.nodeEnv),
    timeoutMs: ANSWER_TIMEOUT_MS,
  });
}

/** Whether the engine answers and the image is there. Fetches nothing. */
export async function checkDocker(deps: CheckDeps, spec: DockerSpec): Promise<EnvironmentCheck> {
  const state = await engineState(deps, spec);
  if (!state.usable) return state;
  const engine = await findEngine(deps.nodeEnv, spec);
  const image = await askEngine(deps, engine, ["image", "inspect", "--format", "{{.Id}}", "--", spec.image]);
  const notes = [...state.notes];
  if (image.exitCode !== 0 && spec.pull === "never")
    return {
      usable: false,
      why: `the image ${spec.image} is not here`,
      hint: `Run ${engine} pull ${spec.image}.`,
    };
  notes.push(image.exitCode === 0 ? "the image is here" : "the image will be fetched at the first use");
  return { usable: true, notes };
}

/** The command to use. Throws `environment.unusable`. */
export async function findEngine(nodeEnv: CheckDeps["nodeEnv"], { engine }: DockerSpec): Promise<string> {
  for (const name of engine ? [engine] : ["docker", "podman"]) {
    const found = await findCommand(name, nodeEnv.PATH ?? "");
    if (found.kind === "found") return name;
  }
  throw new Fault("environment.unusable", `${engine ?? "docker or podman"} is not installed`, {
    hint: "Install Docker or Podman, or use another environment.",
  });
}
