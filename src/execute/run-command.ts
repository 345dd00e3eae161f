// One command of a run, from a ready command line to its Outcome: held, recorded, released, seen to its end.
//
// I1. Nothing begins before `record` has committed pid, start time and group (L3, L10).
// I2. Whatever happens, exceptions included, no process of the run is left; what would not go is counted in the log.
// I3. An abort is seen at every wait; after the command has ended by itself, its exit stands.

import { whenAborted } from "../kernel/abort.ts";
import type { Redact } from "../kernel/redact.ts";
import type { Clock } from "../kernel/time.ts";
import { type KeptOutput, outcomeOfAbort } from "../records/abort-outcome.ts";
import type { Outcome } from "../records/outcome.ts";
import type { ProcessRecord } from "../records/process.ts";
import type { AbortReason, RunContext } from "../records/run-context.ts";
import type { MarkIndex } from "./mark-index.ts";
import type { PipePool } from "./pipe-pool.ts";
import { outcomeOfExit, outcomeOfSpawn } from "./script-outcome.ts";
import { type HeldProcess, spawnHeld } from "./spawn-held.ts";
import { superviseCommand } from "./supervise.ts";

export interface CommandDeps {
  clock: Clock;
  redact: Redact;
  /** `readHost().hostId`. */
  hostId: string;
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

export interface ReadyCommand {
  /** Absolute, or a bare name looked up along `env.PATH`. */
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment, with the run's mark (command-env.ts). */
  env: Readonly<Record<string, string>>;
  /** Default: stdin is /dev/null. */
  stdin?: string;
  /** Told of an end that was nobody's abort, before its outcome. */
  onExit?: ((kept: KeptOutput, exitCode: number | undefined) => void) | undefined;
}

/** Commits the process before it is released; false = it may not begin. `ctx.begin` or `ctx.addProcess`. */
export type RecordProcess = (process: ProcessRecord) => Promise<boolean>;

/**
 * Runs it. Rejects only when `record` does (nothing has begun then). When `record` answers false and the signal has not
 * aborted, the outcome is cancelled by `beforeStart`.
 */
export async function runCommand(
  deps: CommandDeps,
  ready: ReadyCommand,
  run: { ctx: RunContext; record: RecordProcess },
): Promise<Outcome> {
  const { ctx } = run;
  if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
  const held = await spawnHeld({ ...ready, pipes: deps.pipes });
  if (held.kind === "refused") return outcomeOfSpawn(held.message);
  const endSkip = deps.marks?.skip(held.identity.pid);
  let isReleased = false;
  try {
    const hasBegun = await run.record(recordOf(deps, ready, { held, ctx }));
    if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
    // A cancel that came first, or a lost claim; for the latter this outcome changes nothing (law 3).
    if (!hasBegun) return outcomeOfAbort({ kind: "cancel", by: "beforeStart" });
    isReleased = true;
    return await runReleased(deps, { held, onExit: ready.onExit }, ctx);
  } finally {
    // Not released: the shim goes and the command never was. Released: only an exception of ours leads here.
    if (!isReleased) await held.abandon();
    endSkip?.();
  }
}

async function runReleased(
  deps: CommandDeps,
  { held, onExit }: { held: HeldProcess; onExit: ReadyCommand["onExit"] },
  ctx: RunContext,
): Promise<Outcome> {
  const abort = whenAborted(ctx.signal);
  try {
    const end = await superviseCommand(deps, held, { ctx, aborted: abort.promise });
    if (end.kind === "notStarted") return outcomeOfSpawn(end.message);
    if (end.kind === "aborted") return outcomeOfAbort(reasonOf(ctx), end.kept);
    onExit?.(end.kept, end.exit.exitCode);
    return outcomeOfExit(end.exit, end.kept);
  } finally {
    abort.release();
  }
}

function recordOf(
  deps: CommandDeps,
  ready: ReadyCommand,
  on: { held: HeldProcess; ctx: RunContext },
): ProcessRecord {
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

/** Asked only once the signal has aborted. Without a reason the owner is gone, and with it the claim. */
export function reasonOf(ctx: RunContext): AbortReason {
  return ctx.abortReason() ?? { kind: "claimLost" };
}
