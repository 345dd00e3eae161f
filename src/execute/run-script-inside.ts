// A script's run in an environment: its file brought in, run there, and its end told as that of a script on this machine.
//
// I1. Whether the place can be used is asked before anything begins; `running` is committed before it is opened (L3).
// I2. What the script left running ends with the environment, and so does the file that was brought in.
// I3. A place that is lost while the script runs is made anew once where repeating is declared safe (law 4). Otherwise
//     nobody knows how far it came: the outcome is `unknown`, never the script's own failure.

import { mkdir, rm } from "node:fs/promises";
import { type Fault, isFault, sayFault } from "../kernel/errors.ts";
import type { Redact } from "../kernel/redact.ts";
import { type KeptOutput, outcomeOfAbort } from "../records/abort-outcome.ts";
import type { CommandResult, Environment } from "../records/environment.ts";
import { type EnvironmentSpec, formatEnvironment } from "../records/environment-spec.ts";
import type { Outcome } from "../records/outcome.ts";
import type { RunContext } from "../records/run-context.ts";
import { decodeTail, STDERR_LIMIT, STDOUT_LIMIT } from "./capture.ts";
import { commandEnv } from "./command-env.ts";
import { openEnvironment, requireUsable } from "./environments/index.ts";
import type { EnvironmentDeps } from "./environments/place.ts";
import type { ScopeLocks } from "./environments/scope-locks.ts";
import { type LiveLog, makeLiveLog } from "./live-log.ts";
import {
  OUTPUT_VARIABLE,
  prepareForElsewhere,
  type ScriptForElsewhere,
  type ScriptWork,
} from "./prepare-script.ts";
import { reasonOf } from "./run-command.ts";
import { envOf, leaveWorkspace, type RecordScript, redactWith, type ScriptDeps } from "./run-script.ts";
import { bringEvent, fileInside } from "./script-files-inside.ts";
import { outcomeOfExit, outcomeOfPreflight, outcomeOfSpawn } from "./script-outcome.ts";
import { DEFAULT_GRACE_MS } from "./terminate.ts";
import { openWorkspace } from "./workspace.ts";

/** Where the script is to run. */
export interface ScriptEnvironment {
  spec: EnvironmentSpec;
  /** The work's effects allow it to run again. */
  isRepeatable: boolean;
  /** Of a shared environment (W6), with the line of those who want it. */
  scopeKey?: string | undefined;
  /** Where on this machine what the scope keeps lies. */
  keptFolder?: string | undefined;
  locks?: ScopeLocks;
  /** Made for the run (0700) and removed with it. */
  tempFolder: string;
}

interface Inside {
  deps: ScriptDeps;
  place: ScriptEnvironment;
  script: ScriptForElsewhere;
  args: readonly string[];
  environmentDeps: EnvironmentDeps;
  redact: Redact;
  onEnd: ScriptWork["onEnd"];
  event: ScriptWork["event"];
  ctx: RunContext;
}

/** Runs a script in `place` to its Outcome. Rejects only when `record` does (nothing has begun then). */
export async function runScriptInside(
  deps: ScriptDeps,
  work: ScriptWork,
  run: { ctx: RunContext; place: ScriptEnvironment; record?: RecordScript },
): Promise<Outcome> {
  const { ctx, place, record = (process, sha256) => ctx.begin(process, sha256) } = run;
  if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
  let script: ScriptForElsewhere;
  let env: Record<string, string>;
  let workspace: string | undefined;
  let outcome: Outcome | undefined;
  let release = () => {};
  try {
    script = await prepareForElsewhere(deps, work);
    env = commandEnv({ ...deps, ...ctx, ...envOf(work, undefined) });
    await requireUsable(deps, place.spec);
    release = (await place.locks?.take(place.scopeKey, ctx.signal)) ?? release;
    await mkdir(place.tempFolder, { recursive: true, mode: 0o700 });
    if (script.workdir === undefined) workspace = await openWorkspace(deps.workspacesFolder, ctx.run.id);
  } catch (error) {
    release();
    return ctx.signal.aborted ? outcomeOfAbort(reasonOf(ctx)) : outcomeOfPreflight(error);
  }
  try {
    const hasBegun = await record(undefined, script.sha256);
    if (ctx.signal.aborted) return outcomeOfAbort(reasonOf(ctx));
    if (!hasBegun) return outcomeOfAbort({ kind: "cancel", by: "beforeStart" });
    const workdir = script.workdir ?? workspace ?? deps.workspacesFolder;
    outcome = await runBegun({
      ...{ deps, place, script, ctx, args: work.args },
      environmentDeps: environmentDepsOf(deps, { work, env, workdir, ctx, place }),
      redact: redactWith(deps.redact, work, env),
      ...{ onEnd: work.onEnd, event: work.event },
    });
    return outcome;
  } finally {
    // The environment has ended by now; a folder that cannot be removed must not keep others out of it.
    release();
    await rm(place.tempFolder, { recursive: true, force: true });
    if (workspace) await leaveWorkspace(workspace, outcome, ctx);
  }
}

function environmentDepsOf(
  deps: ScriptDeps,
  facts: {
    work: ScriptWork;
    env: Record<string, string>;
    workdir: string;
    ctx: RunContext;
    place: ScriptEnvironment;
  },
): EnvironmentDeps {
  const { work, env, workdir, ctx, place } = facts;
  return {
    ...{ clock: deps.clock, log: ctx.log, newId: deps.newId, env, workdir, tempFolder: place.tempFolder },
    jobEnvNames: Object.keys({ ...work.env, ...work.literalEnv }),
    nodeEnv: deps.nodeEnv,
    variable: deps.variable,
    signal: ctx.signal,
    scopeKey: place.scopeKey,
    keptFolder: place.keptFolder,
    probeWalls: deps.probeWalls,
    ...(deps.pipes && { pipes: deps.pipes }),
    /** A reason that names its own grace is in a hurry (L13). */
    get graceMs() {
      const reason = ctx.abortReason();
      const hurriedMs = reason?.kind === "nodeStopped" ? reason.graceMs : undefined;
      return hurriedMs ?? deps.graceMs ?? DEFAULT_GRACE_MS;
    },
  };
}

/** Twice at most (I3). */
async function runBegun(inside: Inside): Promise<Outcome> {
  const { ctx, place } = inside;
  const first = await runOnce(inside);
  if (first.kind === "ended") return first.outcome;
  if (!place.isRepeatable || ctx.signal.aborted) return first.unless;
  ctx.emit("environment-recreated", { why: first.lost.message });
  const second = await runOnce(inside, { isAnew: true });
  return second.kind === "ended" ? second.outcome : second.unless;
}

type End = { kind: "ended"; outcome: Outcome } | { kind: "lost"; lost: Fault; unless: Outcome };

async function runOnce(inside: Inside, { isAnew = false } = {}): Promise<End> {
  const { place, ctx, environmentDeps } = inside;
  let environment: Environment | undefined;
  let hasScriptBegun = false;
  try {
    environment = await openEnvironment(environmentDeps, place.spec, {
      isWorkdirSynced: inside.script.workdir !== undefined,
      isAnew,
    });
    const path = `${environment.ownFolder}/script/${inside.script.name}`;
    await environment.writeFile(path, inside.script.bytes, { signal: ctx.signal, mode: 0o700 });
    hasScriptBegun = true;
    const outcome = await execute(inside, environment, path);
    const source = { kind: "environment", environment, signal: ctx.signal, redact: inside.redact } as const;
    const kept = await inside.deps.keepMedia?.(outcome, source, ctx.run);
    return { kind: "ended", outcome: kept ?? outcome };
  } catch (error) {
    if (ctx.signal.aborted) return { kind: "ended", outcome: outcomeOfAbort(reasonOf(ctx)) };
    if (!isFault(error)) throw error;
    const outcome = hasScriptBegun ? outcomeOfLoss(error, inside.redact) : outcomeOfNoPlace(error);
    return error.code === "environment.broken"
      ? { kind: "lost", lost: error, unless: outcome }
      : { kind: "ended", outcome };
  } finally {
    await close(environment, ctx);
  }
}

/** The place could not be had; nothing of the script has begun. `unavailable` is a word of `retry.on` (L6). */
function outcomeOfNoPlace(fault: Fault): Outcome {
  const code = fault.retry === "later" ? "unavailable" : fault.code;
  return { state: "failed", error: { code, message: sayFault(fault) } };
}

function outcomeOfLoss(fault: Fault, redact: Redact): Outcome {
  const { stdout } = fault.details ?? {};
  const output = typeof stdout === "string" && stdout !== "" ? redact(stdout) : undefined;
  return { state: "unknown", why: fault.message, ...(output !== undefined && { output }) };
}

/** Proof of cleanup: what would not go is in the run's log. */
async function close(environment: Environment | undefined, ctx: RunContext): Promise<void> {
  const { survivors } = (await environment?.dispose()) ?? { survivors: 0 };
  if (survivors === 0) return;
  ctx.emit("process-ended", { why: "the run ended", survivors });
  ctx.log.warn("processes-outlived-run", { runId: ctx.run.id, survivors });
}

/** Left by the shell where no interpreter was found: an exit of 127 alone may be the script's own. */
const NO_INTERPRETER = "no-interpreter";

async function execute(inside: Inside, environment: Environment, path: string): Promise<Outcome> {
  const { deps, script, ctx, redact } = inside;
  const marker = `${environment.ownFolder}/${NO_INTERPRETER}`;
  const outputFile = `${environment.ownFolder}/output`;
  const files = {
    ...(inside.onEnd && { [OUTPUT_VARIABLE]: outputFile }),
    ...(await bringEvent(environment, inside.event, ctx.signal)),
  };
  const logs = liveLogs(inside);
  let result: CommandResult;
  try {
    result = await environment.exec(commandText({ script, path, args: inside.args, marker, files }), {
      signal: ctx.signal,
      maxBytes: deps.outputBytes ?? STDOUT_LIMIT,
      onActivity: (activity) => {
        if (activity === "cpu") ctx.touch("cpu");
      },
      onOutput: (stream, chunk) => {
        ctx.touch(stream);
        logs[stream].push(chunk);
      },
    });
  } finally {
    logs.stdout.end();
    logs.stderr.end();
  }
  const kept = keptOf(result, { redact, maxBytes: deps.outputBytes ?? STDOUT_LIMIT });
  if (result.interrupted) return outcomeOfAbort(reasonOf(ctx), kept);
  if (result.exitCode === 127 && (await fileInside(environment, marker, ctx.signal)) !== undefined) {
    const names = script.interpreters.map(({ command }) => command).join(" nor ");
    return outcomeOfSpawn(`there is no ${names} in ${formatEnvironment(inside.place.spec)}`);
  }
  if (inside.onEnd) {
    const bytes = await fileInside(environment, outputFile, ctx.signal);
    const file = bytes && redact(Buffer.from(bytes).toString("utf8"));
    inside.onEnd({ ...kept, exitCode: result.exitCode, file });
  }
  return outcomeOfExit({ exitCode: result.exitCode, signal: undefined }, kept);
}

function liveLogs({ deps, ctx, redact }: Inside): Record<"stdout" | "stderr", LiveLog> {
  const open = (name: "stdout" | "stderr") =>
    makeLiveLog({
      emit: (data) => ctx.emit(name, data),
      redact,
      monotonicMs: () => deps.clock.monotonicMs(),
    });
  return { stdout: open("stdout"), stderr: open("stderr") };
}

/**
 * Tries the interpreters in turn, by the place's own PATH. Everything of a call gets TERM at once: the shell around the
 * script outlives it, so that what the script says while it tidies up still has a way out.
 */
function commandText(call: {
  script: ScriptForElsewhere;
  path: string;
  args: readonly string[];
  marker: string;
  /** Variables that name the run's own files. */
  files: Readonly<Record<string, string>>;
}): string {
  const branches = call.script.interpreters.map(({ command, args }) => {
    const words = [command, ...args, call.path, ...call.args].map(quoted).join(" ");
    return `if command -v ${quoted(command)} >/dev/null 2>&1; then ${words}`;
  });
  const exports = Object.entries(call.files).map(([name, file]) => `export ${name}=${quoted(file)}\n`);
  return `${exports.join("")}trap : TERM\n${branches.join("\nel")}\nelse : >${quoted(call.marker)}; (exit 127)\nfi`;
}

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

function keptOf(result: CommandResult, by: { redact: Redact; maxBytes: number }): KeptOutput {
  const { stdout, stderr, truncated } = result;
  // The flag stands for either stream: it is stdout's when stdout is full.
  const isTruncated = truncated && stdout.length >= by.maxBytes;
  const isErrorCut = stderr.length > STDERR_LIMIT;
  return {
    stdout: by.redact(decodeTail(Buffer.from(stdout), isTruncated)),
    stderr: by.redact(
      decodeTail(Buffer.from(stderr.subarray(Math.max(0, stderr.length - STDERR_LIMIT))), isErrorCut),
    ),
    isTruncated,
  };
}
