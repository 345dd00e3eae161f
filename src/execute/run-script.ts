// A script's run, from its path to its Outcome: prepared, given its environment and folder, run as a command.
//
// I1. Judged by the exit of the command itself, not by who holds its pipe (hermes#60485).
// I2. run-command.ts's I1–I3 hold.

import { readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { chainRedact, isSecretName, makeRedact, type Redact } from "../kernel/redact.ts";
import { type KeptOutput, outcomeOfAbort } from "../records/abort-outcome.ts";
import type { KeepMedia } from "../records/keep-media.ts";
import type { Outcome } from "../records/outcome.ts";
import type { ProcessRecord } from "../records/process.ts";
import type { RunContext } from "../records/run-context.ts";
import { commandEnv } from "./command-env.ts";
import type { ProbeWalls } from "./environments/bubblewrap.ts";
import type { ScopeLocks } from "./environments/scope-locks.ts";
import {
  EVENT_FILE,
  EVENT_VARIABLE,
  MAX_RESULT_BYTES,
  OUTPUT_VARIABLE,
  type PreparedScript,
  prepareScript,
  type ScriptPlace,
  type ScriptWork,
} from "./prepare-script.ts";
import { type CommandDeps, reasonOf, runCommand } from "./run-command.ts";
import { outcomeOfPreflight } from "./script-outcome.ts";
import { closeWorkspace, openWorkspace } from "./workspace.ts";

export interface ScriptDeps extends ScriptPlace, CommandDeps {
  workspacesFolder: string;
  /** One per node: whose turn it is in shared environments (W6). */
  locks?: ScopeLocks;
  /** One per node: walls that stood once stand. */
  probeWalls?: ProbeWalls;
  /** Keeps the files that a run's output names. Default: they stay names. */
  keepMedia?: KeepMedia;
}

/**
 * Commits the script's process before it is released, with the digest of what is about to run (D5). Undefined = it will
 * have no process of this machine.
 */
export type RecordScript = (process: ProcessRecord | undefined, scriptSha256: string) => Promise<boolean>;

/**
 * Runs a script to its Outcome. Rejects only when `record` does (nothing has begun then). When it answers false and the
 * signal has not aborted, the outcome is cancelled by `beforeStart`.
 */
export async function runScript(
  deps: ScriptDeps,
  work: ScriptWork,
  ctx: RunContext,
  record: RecordScript = (process, sha256) => ctx.begin(process, sha256),
): Promise<Outcome> {
  if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
  let prepared: PreparedScript;
  let env: Record<string, string>;
  let workspace: string | undefined;
  try {
    prepared = await prepareScript(deps, work);
    // The files of a run never go into a folder of somebody's own.
    const hasFiles = work.onEnd !== undefined || work.event !== undefined;
    if (!prepared.workdir || hasFiles) workspace = await openWorkspace(deps.workspacesFolder, ctx.run.id);
    env = commandEnv({ ...deps, ...ctx, ...envOf(work, workspace && join(workspace, OUTPUT_FILE)) });
    if (workspace && work.event !== undefined) env[EVENT_VARIABLE] = await writeEvent(workspace, work.event);
  } catch (error) {
    return outcomeOfPreflight(error);
  }
  const { command, args, sha256 } = prepared;
  const cwd = prepared.workdir ?? workspace ?? deps.workspacesFolder;
  let outcome: Outcome | undefined;
  try {
    const own = { ...deps, redact: redactWith(deps.redact, work, env) };
    const run = { ctx, record: (process: ProcessRecord) => record(process, sha256) };
    const onExit = work.onEnd && tellEnd(work.onEnd, { redact: own.redact, file: env[OUTPUT_VARIABLE] });
    outcome = await runCommand(own, { command, args, cwd, env, onExit }, run);
    const source = { kind: "folders", cwd, folders: [cwd], redact: own.redact } as const;
    outcome = (await deps.keepMedia?.(outcome, source, ctx.run)) ?? outcome;
    return outcome;
  } finally {
    if (workspace) await leaveWorkspace(workspace, outcome, ctx);
  }
}

async function writeEvent(folder: string, event: string): Promise<string> {
  const file = join(folder, EVENT_FILE);
  await writeFile(file, event, { mode: 0o600 });
  return file;
}

/** Whose variables a script gets; with the file for its result, where somebody wants one. */
export function envOf(work: ScriptWork, outputPath: string | undefined) {
  const output = work.onEnd && outputPath !== undefined ? { [OUTPUT_VARIABLE]: outputPath } : {};
  return {
    jobEnv: work.env,
    literalEnv: { ...work.literalEnv, ...output },
    timezone: work.timezone,
  };
}

/** In the run's workspace; read and removed at once, so that a failed run leaves no folder for its sake. */
const OUTPUT_FILE = ".nightshift-output";

function tellEnd(
  onEnd: NonNullable<ScriptWork["onEnd"]>,
  { redact, file }: { redact: Redact; file: string | undefined },
): (kept: KeptOutput, exitCode: number | undefined) => void {
  return (kept, exitCode) => {
    const bytes = file === undefined ? undefined : takeFile(file);
    onEnd({ ...kept, exitCode, file: bytes && redact(bytes.subarray(0, MAX_RESULT_BYTES).toString("utf8")) });
  };
}

/** Undefined where the script wrote none. A home is local: reading at once costs less than a wait (script-path I2). */
function takeFile(file: string): Buffer | undefined {
  try {
    const bytes = readFileSync(file);
    rmSync(file, { force: true });
    return bytes;
  } catch {
    return undefined;
  }
}

/** Values of the job's own secrets are hidden too, also those it names by `${NAME}`. */
export function redactWith(
  redact: Redact,
  work: Pick<ScriptWork, "env" | "literalEnv">,
  env: Record<string, string>,
): Redact {
  const secrets = Object.keys({ ...work.env, ...work.literalEnv })
    .filter(isSecretName)
    .map((name) => env[name] ?? "");
  if (secrets.length === 0) return redact;
  return chainRedact(redact, makeRedact(secrets));
}

/** Ends a run's workspace; one that is kept is said so in the node's log. */
export async function leaveWorkspace(
  path: string,
  outcome: Outcome | undefined,
  ctx: RunContext,
): Promise<void> {
  try {
    // No outcome = `begin` threw: nothing ran, so nothing in it is worth keeping.
    const isGone = await closeWorkspace(path, outcome === undefined || outcome.state === "succeeded");
    if (!isGone) ctx.log.info("workspace-kept", { runId: ctx.run.id, path });
  } catch (error) {
    ctx.log.warn("workspace-not-removed", { runId: ctx.run.id, path, error: String(error) });
  }
}
