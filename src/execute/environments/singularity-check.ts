// Whether an instance can be had here: the program and the image. Fetches nothing, starts nothing.

import { Fault } from "../../kernel/errors.ts";
import type { SingularitySpec } from "../../records/environment-spec.ts";
import { findCommand } from "../find-command.ts";
import type { CheckDeps, EnvironmentCheck } from "./place.ts";
import { lastLine, runClient } from "./run-client.ts";
import { singularityEnv } from "./singularity-arguments.ts";
import { imageSource, isThere, missingHint } from "./singularity-image.ts";

const ANSWER_TIMEOUT_MS = 30_000;
const PROGRAMS = ["apptainer", "singularity"] as const;

/** The command to use. Throws `environment.unusable`. */
export async function findSingularity(nodeEnv: CheckDeps["nodeEnv"]): Promise<string> {
  for (const name of PROGRAMS) {
    const found = await findCommand(name, nodeEnv.PATH ?? "");
    if (found.kind === "found") return name;
  }
  throw new Fault("environment.unusable", "apptainer or singularity is not installed", {
    hint: "Install Apptainer, or use another environment.",
  });
}

/** Whether the program answers, whatever the image. */
export async function singularityState(deps: CheckDeps): Promise<EnvironmentCheck> {
  const program = await findSingularity(deps.nodeEnv);
  const version = await ask(deps, [program, "--version"]);
  return version.exitCode === 0
    ? { usable: true, notes: [version.stdout.trim()] }
    : {
        usable: false,
        why: `${program} does not answer: ${lastLine(version)}`,
        hint: "Repair its installation.",
      };
}

/** Also whether the image is there and is one. */
export async function checkSingularity(deps: CheckDeps, spec: SingularitySpec): Promise<EnvironmentCheck> {
  const state = await singularityState(deps);
  if (!state.usable) return state;
  const program = await findSingularity(deps.nodeEnv);
  const source = imageSource(deps.nodeEnv, spec);
  if (!(await isThere(source.file)))
    return source.uri === undefined || spec.pull === "never"
      ? { usable: false, why: `the image ${spec.image} is not here`, hint: missingHint(program, source) }
      : { usable: true, notes: [...state.notes, "the image will be fetched at the first use"] };
  const inspected = await ask(deps, [program, "--silent", "inspect", source.file]);
  if (inspected.exitCode !== 0)
    return {
      usable: false,
      why: `${source.file} is no image: ${lastLine(inspected)}`,
      hint: source.uri === undefined ? "Correct the image's path." : "Remove it: it is fetched again.",
    };
  return { usable: true, notes: [...state.notes, `the image is ${source.file}`] };
}

const ask = ({ clock, nodeEnv }: CheckDeps, argv: readonly string[]) =>
  runClient(clock, { argv, env: singularityEnv(nodeEnv), timeoutMs: ANSWER_TIMEOUT_MS });
