// A released command until nothing of it is left: its output, its end or its abort, and the proof of cleanup.
//
// I1. Output is read from before the release to at most `drainMs` after the exit.
// I2. Resolves only when the run's processes are gone, or have been counted as survivors after KILL.

import { linkAbort } from "../kernel/abort.ts";
import type { Redact } from "../kernel/redact.ts";
import type { Clock } from "../kernel/time.ts";
import type { KeptOutput } from "../records/abort-outcome.ts";
import type { ProcessIdentity } from "../records/process.ts";
import type { RunContext } from "../records/run-context.ts";
import { type Capture, captureStream, STDERR_LIMIT, STDOUT_LIMIT } from "./capture.ts";
import { type LiveLog, makeLiveLog } from "./live-log.ts";
import { findLeft, type MarkIndex, makeMarkIndex } from "./mark-index.ts";
import { groupMembers, readProcess } from "./process-table.ts";
import type { CommandExit, HeldProcess } from "./spawn-held.ts";
import { DEFAULT_GRACE_MS, type Ended, endRun, findLeftovers } from "./terminate.ts";

const DEFAULT_DRAIN_MS = 2_000;
/** Grace for what outlives its command: it had the whole run to finish. */
const LEFTOVER_GRACE_MS = 2_000;
const SETTLE_MS = 25;

export interface SuperviseDeps {
  clock: Clock;
  redact: Redact;
  graceMs?: number;
  drainMs?: number;
  /** How much of stdout is kept, its tail (`limits.outputBytes`). Default 1 MB. */
  outputBytes?: number;
  /** Shared by the node's runs; made for each run when absent, which costs a look at every process. */
  marks?: MarkIndex;
}

export type CommandEnd =
  | { kind: "exited"; exit: CommandExit; kept: KeptOutput }
  | { kind: "aborted"; kept: KeptOutput }
  | { kind: "notStarted"; message: string };

interface Watched {
  ctx: RunContext;
  /** Resolves when the run is to be aborted; never rejects. */
  aborted: Promise<void>;
}

/** Releases the command and sees it to its end. Never rejects. */
export async function superviseCommand(
  deps: SuperviseDeps,
  held: HeldProcess,
  watched: Watched,
): Promise<CommandEnd> {
  const { ctx } = watched;
  const output = openOutput(deps, held, ctx);
  held.release();
  let exit = await Promise.race([held.exited, watched.aborted.then(() => undefined)]);
  // It may have ended before the abort came, with the news still on its way to us: then its exit stands.
  if (!exit && (readProcess(held.identity.pid)?.isZombie ?? true)) exit = await held.exited;
  // At this very turn the exit is news, so members seen now are ours beyond doubt (terminate.ts I2).
  const known: ProcessIdentity[] = [held.identity, ...leftInGroup(held, exit !== undefined)];
  if (exit) {
    await drain(deps, output, watched.aborted);
    await endWhatIsLeft(deps, known, ctx);
  } else {
    const ended = await endRun(deps, { runId: ctx.run.id, known, graceMs: graceOf(deps, ctx) });
    ctx.emit("process-ended", { why: "aborted", ...ended });
    await drain({ ...deps, drainMs: LEFTOVER_GRACE_MS }, output, undefined);
  }
  const kept = output.close(deps.redact);
  const notStarted = await whyNotStarted(held, exit);
  if (notStarted) return { kind: "notStarted", message: notStarted };
  return exit ? { kind: "exited", exit, kept } : { kind: "aborted", kept };
}

/** A reason that names its own grace is in a hurry (L13). */
function graceOf(deps: SuperviseDeps, ctx: RunContext): number {
  const reason = ctx.abortReason();
  const hurriedMs = reason?.kind === "nodeStopped" ? reason.graceMs : undefined;
  return hurriedMs ?? deps.graceMs ?? DEFAULT_GRACE_MS;
}

interface Output {
  ended: Promise<unknown>;
  close(redact: Redact): KeptOutput;
}

function openOutput(deps: SuperviseDeps, held: HeldProcess, ctx: RunContext): Output {
  const open = (name: "stdout" | "stderr", maxBytes: number): { capture: Capture; live: LiveLog } => {
    const live = makeLiveLog({
      emit: (data) => ctx.emit(name, data),
      redact: deps.redact,
      monotonicMs: () => deps.clock.monotonicMs(),
    });
    const onChunk = (chunk: Uint8Array) => {
      ctx.touch(name);
      live.push(chunk);
    };
    return { capture: captureStream(held[name], { maxBytes, onChunk }), live };
  };
  const streams = [open("stdout", deps.outputBytes ?? STDOUT_LIMIT), open("stderr", STDERR_LIMIT)] as const;
  return {
    ended: Promise.all(streams.map((stream) => stream.capture.ended)),
    close(redact) {
      for (const stream of streams) {
        stream.capture.stop();
        stream.live.end();
      }
      const [stdout, stderr] = streams.map((stream) => stream.capture.tail);
      return {
        stdout: redact(stdout?.text() ?? ""),
        stderr: redact(stderr?.text() ?? ""),
        isTruncated: stdout?.isTruncated() ?? false,
      };
    },
  };
}

/** Waits for the end of both streams, at most `drainMs`; an abort ends the wait. */
async function drain(deps: SuperviseDeps, output: Output, aborted: Promise<void> | undefined): Promise<void> {
  const timer = linkAbort();
  const limit = deps.clock.sleep(deps.drainMs ?? DEFAULT_DRAIN_MS, timer.signal).catch(() => {});
  try {
    await Promise.race([output.ended, limit, ...(aborted ? [aborted] : [])]);
  } finally {
    timer.abort(new Error("drained"));
    await limit;
  }
}

/** What still sits in the command's group once the command has exited. One cheap call where nothing does. */
function leftInGroup(held: HeldProcess, hasExited: boolean): ProcessIdentity[] {
  if (!hasExited) return [];
  try {
    process.kill(-held.identity.processGroup, 0);
  } catch {
    return [];
  }
  return groupMembers(held.identity.processGroup);
}

async function endWhatIsLeft(deps: SuperviseDeps, known: ProcessIdentity[], ctx: RunContext): Promise<void> {
  const runId = ctx.run.id;
  // The leader is known and gone: with nobody else known or marked there is nothing to look for.
  const marks = deps.marks ?? makeMarkIndex(deps.clock);
  if (known.length === 1 && (await findLeft(marks, deps.clock, runId)).length === 0) return;
  if (findLeftovers(runId, known).length === 0) return;
  // A process that ends by itself lets go of its pipe a moment before it is gone.
  await deps.clock.sleep(SETTLE_MS, new AbortController().signal);
  if (findLeftovers(runId, known).length === 0) return;
  const graceMs = Math.min(LEFTOVER_GRACE_MS, deps.graceMs ?? DEFAULT_GRACE_MS);
  const ended: Ended = await endRun(deps, { runId, known, graceMs });
  if (ended.ended.length + ended.survivors.length === 0) return;
  ctx.emit("process-ended", { why: "outlived the run", ...ended });
  ctx.log.warn("processes-outlived-run", { runId, ...ended });
}

/** The shim's own word (never a guess from an exit code). Only 126 and 127 are worth asking for. */
async function whyNotStarted(held: HeldProcess, exit: CommandExit | undefined): Promise<string | undefined> {
  if (exit?.exitCode !== 126 && exit?.exitCode !== 127) return undefined;
  const answer = await held.handedOver;
  if (answer === "missing") return "the interpreter has just vanished";
  if (answer === "notExecutable") return "the interpreter has just lost its execute permission";
  return undefined;
}
