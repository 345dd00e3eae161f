// A script job's run, from its path to its Outcome. The flow is the invariants' order:
//
// I1. Nothing begins before `ctx.begin` has committed pid, start time and group (L3, L10).
// I2. Whatever happens, exceptions included, no process of the run is left; what would not go is counted in the log.
// I3. Judged by the exit of the command itself, not by who holds its pipe (hermes#60485).
// I4. An abort is seen at every wait; after the command has ended by itself, its exit stands.

import { whenAborted } from "../kernel/abort.ts";
import { isSecretName, makeRedact, type Redact } from "../kernel/redact.ts";
import type { Clock } from "../kernel/time.ts";
import type { Outcome } from "../records/outcome.ts";
import type { ProcessRecord } from "../records/process.ts";
import type { AbortReason, RunContext } from "../records/run-context.ts";
import { commandEnv } from "./command-env.ts";
import type { MarkIndex } from "./mark-index.ts";
import type { PipePool } from "./pipe-pool.ts";
import { type PreparedScript, prepareScript, type ScriptPlace, type ScriptWork } from "./prepare-script.ts";
import { outcomeOfAbort, outcomeOfExit, outcomeOfPreflight, outcomeOfSpawn } from "./script-outcome.ts";
import { type HeldProcess, spawnHeld } from "./spawn-held.ts";
import { superviseCommand } from "./supervise.ts";
import { closeWorkspace, openWorkspace } from "./workspace.ts";

export interface ScriptDeps extends ScriptPlace {
  clock: Clock;
  redact: Redact;
  /** `readHost().hostId`. */
  hostId: string;
  workspacesFolder: string;
  newId(): string;
  /** TERM → KILL. Default 10 s. */
  graceMs?: number;
  /** How long output is awaited after the exit while somebody else holds the pipe. Default 2 s. */
  drainMs?: number;
  /** How much of stdout is kept, its tail. Default 1 MB. */
  outputBytes?: number;
  /** One per node, so that the end of a run does not look at every process of the machine. */
  marks?: MarkIndex;
  /** One per node. Without it `> /dev/stderr` fails in scripts. */
  pipes?: PipePool;
}

/**
 * Runs a script to its Outcome. Rejects only when `ctx.begin` does (nothing has begun then). When `begin` answers
 * false and the signal has not aborted, the outcome is cancelled by `beforeStart`.
 */
export async function runScript(deps: ScriptDeps, work: ScriptWork, ctx: RunContext): Promise<Outcome> {
  if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
  let prepared: PreparedScript;
  let env: Record<string, string>;
  let workspace: string | undefined;
  try {
    prepared = await prepareScript(deps, work);
    env = commandEnv({ ...deps, ...ctx, jobEnv: work.env, timezone: work.timezone });
    if (!prepared.workdir) workspace = await openWorkspace(deps.workspacesFolder, ctx.run.id);
  } catch (error) {
    return outcomeOfPreflight(error);
  }
  const cwd = prepared.workdir ?? workspace ?? deps.workspacesFolder;
  let outcome: Outcome | undefined;
  try {
    outcome = await runPrepared(
      { ...deps, redact: redactWith(deps.redact, work.env, env) },
      { ...prepared, cwd, env },
      ctx,
    );
    return outcome;
  } finally {
    if (workspace) await leaveWorkspace(workspace, outcome, ctx);
  }
}

interface Ready extends PreparedScript {
  cwd: string;
  env: Record<string, string>;
}

async function runPrepared(deps: ScriptDeps, ready: Ready, ctx: RunContext): Promise<Outcome> {
  if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
  const held = await spawnHeld({ ...ready, pipes: deps.pipes });
  if (held.kind === "refused") return outcomeOfSpawn(held.message);
  const endSkip = deps.marks?.skip(held.identity.pid);
  let isReleased = false;
  try {
    const hasBegun = await ctx.begin(recordOf(deps, ready, { held, ctx }), ready.sha256);
    if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
    // A cancel that came first, or a lost claim; for the latter this outcome changes nothing (law 3).
    if (!hasBegun) return outcomeOfAbort({ kind: "cancel", by: "beforeStart" });
    isReleased = true;
    return await runReleased(deps, held, ctx);
  } finally {
    // Not released: the shim goes and the command never was. Released: only an exception of ours leads here.
    if (!isReleased) await held.abandon();
    endSkip?.();
  }
}

async function runReleased(deps: ScriptDeps, held: HeldProcess, ctx: RunContext): Promise<Outcome> {
  const abort = whenAborted(ctx.signal);
  try {
    const end = await superviseCommand(deps, held, { ctx, aborted: abort.promise });
    if (end.kind === "notStarted") return outcomeOfSpawn(end.message);
    if (end.kind === "aborted") return outcomeOfAbort(reasonOf(ctx), end.kept);
    return outcomeOfExit(end.exit, end.kept);
  } finally {
    abort.release();
  }
}

function recordOf(deps: ScriptDeps, ready: Ready, on: { held: HeldProcess; ctx: RunContext }): ProcessRecord {
  return {
    ...on.held.identity,
    id: deps.newId(),
    runId: on.ctx.run.id,
    hostId: deps.hostId,
    command: deps.redact([ready.command, ...ready.args].join(" ")),
    cwd: ready.cwd,
    startedAt: deps.clock.now(),
    endedAt: undefined,
    exitCode: undefined,
  };
}

/** Values of the job's own secrets are hidden too, also those it names by `${NAME}`. */
function redactWith(redact: Redact, jobEnv: ScriptWork["env"], env: Record<string, string>): Redact {
  const secrets = Object.keys(jobEnv)
    .filter(isSecretName)
    .map((name) => env[name] ?? "");
  if (secrets.length === 0) return redact;
  const own = makeRedact(secrets);
  return (text) => own(redact(text));
}

/** Asked only once the signal has aborted. Without a reason the owner is gone, and with it the claim. */
function reasonOf(ctx: RunContext): AbortReason {
  return ctx.abortReason() ?? { kind: "claimLost" };
}

async function leaveWorkspace(path: string, outcome: Outcome | undefined, ctx: RunContext): Promise<void> {
  try {
    // No outcome = `begin` threw: nothing ran, so nothing in it is worth keeping.
    const isGone = await closeWorkspace(path, outcome === undefined || outcome.state === "succeeded");
    if (!isGone) ctx.log.info("workspace-kept", { runId: ctx.run.id, path });
  } catch (error) {
    ctx.log.warn("workspace-not-removed", { runId: ctx.run.id, path, error: String(error) });
  }
}
