// Scripts and shell commands as attempts: params passed, run where the task's environment says, their end read as a result.

import { jobValue } from "../../execute/command-env.ts";
import type { ScriptEnd, ScriptWork } from "../../execute/prepare-script.ts";
import { outcomeOfPreflight } from "../../execute/script-outcome.ts";
import { passParams } from "../../orchestrate/executors/script-params.ts";
import { resultOfScript } from "../../orchestrate/executors/script-result.ts";
import type { ExecutorCall, JsonSchema } from "../../records/executor.ts";
import type { ScriptPass } from "../../records/executor-config.ts";
import type { Effects } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Run } from "../../records/run.ts";
import { outputFileName } from "../../store/files/output-files.ts";
import { runInPlace } from "../script-work.ts";
import type { Attempt, Room } from "./room.ts";

/** Where a registration says its command is to run, unless the task says otherwise. */
export interface CommandPlace {
  env: Readonly<Record<string, string>>;
  workdir: string | undefined;
  environment: string | Record<string, unknown> | undefined;
  effects: Effects;
}

export const ANY_PLACE: CommandPlace = {
  env: {},
  workdir: undefined,
  environment: undefined,
  effects: "external",
};

export interface ScriptSpec {
  /** The folder it must lie in. */
  folder: string;
  /** Relative to it. */
  script: string;
  /** Ahead of what params add. */
  args: readonly string[];
  pass: ScriptPass;
  input: JsonSchema | undefined;
  place: CommandPlace;
}

/** A file that is run. */
export function scriptAttempt(room: Room, spec: ScriptSpec): Attempt {
  const declared = (spec.input?.properties ?? {}) as Record<string, unknown>;
  return (call) => {
    const passed = passParams(call.params, {
      pass: spec.pass,
      isDeclared: (name) => Object.hasOwn(declared, name),
    });
    const work = { script: spec.script, args: [...spec.args, ...passed.args] };
    return runCommandLike(
      room,
      { work, folder: spec.folder, literalEnv: passed.env, place: spec.place },
      call,
    );
  };
}

export interface CommandRequest {
  work: Pick<ScriptWork, "script" | "args" | "command">;
  /** Default: the home's scripts/. */
  folder?: string;
  literalEnv: Readonly<Record<string, string>>;
  place: CommandPlace;
}

/** Runs it and reads its end. */
export async function runCommandLike(
  { context, serving }: Room,
  { work, folder, literalEnv, place }: CommandRequest,
  call: ExecutorCall,
): Promise<Outcome> {
  const { commands } = serving();
  let end: ScriptEnd | undefined;
  let own: Record<string, string>;
  try {
    own = ownVariables(place.env, commands.nodeEnv);
  } catch (error) {
    return outcomeOfPreflight(error);
  }
  const outcome = await runInPlace(
    { context, commands: folder === undefined ? commands : { ...commands, scriptsFolder: folder } },
    {
      work: {
        ...work,
        workdir: call.workdir ?? place.workdir,
        env: {},
        literalEnv: { ...own, ...literalEnv, ...call.env },
        timezone: call.timezone,
        onEnd: (told) => {
          end = told;
        },
      },
      where: { environment: call.environment ?? place.environment ?? "local", effects: place.effects },
    },
    { ctx: call.ctx },
  );
  if (outcome.state !== "succeeded" || !end) return outcome;
  return { ...outcome, result: resultOfScript({ ...end, outputFile: outputFileOf(call.ctx.run) }) };
}

/** The registration's own variables: as a job's, they may hand over the node's by `${NAME}`. Throws `job.invalid`. */
function ownVariables(
  env: CommandPlace["env"],
  nodeEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, jobValue(name, value, nodeEnv)]),
  );
}

/** What the person reads the rest of a cut output from, relative to the home. */
function outputFileOf({ jobId, id: runId, slot, createdAt }: Run): string {
  return outputFileName({ jobId, runId, slot, createdAt });
}
