// A Python function as an attempt: a warm worker taken, the run begun, the call made, what it left ended.
//
// I1. Nothing of the call is sent before `running` is committed with the worker's process (L3, L10).
// I2. A worker that dies is a failed attempt, told as a script that dies. Whoever aborts ends the worker: told as that abort.
// I3. What the function started and left is ended with the call: it carries the run's mark.

import { commandEnv } from "../../execute/command-env.ts";
import { makeLiveLog } from "../../execute/live-log.ts";
import { findLeft } from "../../execute/mark-index.ts";
import { checkWorkdir } from "../../execute/prepare-script.ts";
import { leaveWorkspace, redactWith, type ScriptDeps } from "../../execute/run-script.ts";
import { outcomeOfExit, outcomeOfPreflight, outcomeOfSpawn } from "../../execute/script-outcome.ts";
import { DEFAULT_GRACE_MS, endRun } from "../../execute/terminate.ts";
import { openWorkspace } from "../../execute/workspace.ts";
import { whenAborted } from "../../kernel/abort.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { PythonMessage, PythonModule } from "../../orchestrate/executors/python-protocol.ts";
import { outcomeOfResult } from "../../orchestrate/executors/run-function.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { AbortReason } from "../../records/run-context.ts";
import type { PythonWorker, WorkerEnd } from "./python-worker.ts";
import type { PythonWorkers } from "./python-workers.ts";

export interface PythonTarget {
  module: PythonModule;
  function: string;
  /** A digest of the code that a worker loads. */
  state: string;
}

export interface PythonDeps {
  workers: PythonWorkers;
  commands: ScriptDeps;
}

/** Runs it to its outcome. Never rejects for what Python can do. */
export async function runPython(
  deps: PythonDeps,
  target: PythonTarget,
  call: ExecutorCall,
): Promise<Outcome> {
  const { commands } = deps;
  const { ctx } = call;
  let cwd: string | undefined;
  let workspace: string | undefined;
  let env: Record<string, string>;
  try {
    env = commandEnv({ ...commands, ...ctx, jobEnv: {}, literalEnv: call.env, timezone: call.timezone });
    cwd = await checkWorkdir(call.workdir, commands.nodeEnv.HOME ?? "/");
    workspace = cwd === undefined ? await openWorkspace(commands.workspacesFolder, ctx.run.id) : undefined;
  } catch (error) {
    return outcomeOfPreflight(error);
  }
  let outcome: Outcome | undefined;
  try {
    outcome = await runWith(deps, target, { call, env, cwd: cwd ?? workspace ?? "/" });
    return outcome;
  } finally {
    if (workspace) await leaveWorkspace(workspace, outcome, ctx);
  }
}

interface Prepared {
  call: ExecutorCall;
  env: Record<string, string>;
  cwd: string;
}

async function runWith(deps: PythonDeps, target: PythonTarget, prepared: Prepared): Promise<Outcome> {
  const { ctx } = prepared.call;
  const taken = await deps.workers.take(target.module, target.state);
  if (typeof taken === "string") return outcomeOfSpawn(taken);
  const { worker, giveBack } = taken;
  if (!(await ctx.begin(recordOf(deps.commands, { worker, target, prepared })))) {
    // A fresh one is still held and stays so: it has done nothing.
    giveBack();
    return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  }
  worker.release();
  const outcome = await talk(deps.commands, { worker, target, prepared });
  await endLeftovers(deps.commands, prepared.call);
  giveBack();
  return outcome;
}

function recordOf(
  commands: ScriptDeps,
  { worker, target, prepared }: { worker: PythonWorker; target: PythonTarget; prepared: Prepared },
) {
  return {
    ...worker.identity,
    id: commands.newId(),
    runId: prepared.call.ctx.run.id,
    hostId: commands.hostId,
    command: `python ${target.module.path ?? target.module.module}:${target.function}`,
    cwd: prepared.cwd,
    startedAt: commands.clock.now(),
    endedAt: undefined,
    exitCode: undefined,
  };
}

type End =
  | { kind: "answered"; message: Extract<PythonMessage, { kind: "result" | "error" }> }
  | { kind: "died"; end: WorkerEnd }
  | { kind: "aborted" };

async function talk(
  commands: ScriptDeps,
  { worker, target, prepared }: { worker: PythonWorker; target: PythonTarget; prepared: Prepared },
): Promise<Outcome> {
  const { call, env, cwd } = prepared;
  const { ctx } = call;
  const redact = redactWith(commands.redact, { env: {}, literalEnv: call.env }, env);
  const logs = openLogs(commands, { redact, ctx });
  const aborted = whenAborted(ctx.signal);
  try {
    const answered = new Promise<End>((resolve) => {
      worker.call(requestOf(ctx, { target, params: call.params, env, cwd }), {
        raw: (chunk) => logs.push("stderr", chunk),
        message: (message) => {
          if (message.kind === "result" || message.kind === "error") resolve({ kind: "answered", message });
          else tell(message, { ctx, logs });
        },
      });
    });
    const end = await Promise.race([
      answered,
      worker.ended.then((one): End => ({ kind: "died", end: one })),
      aborted.promise.then((): End => ({ kind: "aborted" })),
    ]);
    if (end.kind !== "aborted") return outcomeOf(end, { redact, target });
    const reason: AbortReason = ctx.abortReason() ?? { kind: "claimLost" };
    await worker.end(graceOf(commands, reason));
    return outcomeOfAbort(reason);
  } finally {
    aborted.release();
    logs.end();
  }
}

function requestOf(
  ctx: ExecutorCall["ctx"],
  facts: Pick<Prepared, "env" | "cwd"> & { target: PythonTarget; params: ExecutorCall["params"] },
) {
  const { run } = ctx;
  const { target, params, env, cwd } = facts;
  return {
    ...{ id: 1, module: target.module.module, function: target.function, params, env, cwd },
    call: {
      ...{ run_id: run.id, job_id: run.jobId ?? null, attempt: run.attempt },
      idempotency_key: run.idempotencyKey,
    },
  };
}

function graceOf(commands: ScriptDeps, reason: AbortReason): number {
  const hurriedMs = reason.kind === "nodeStopped" ? reason.graceMs : undefined;
  return hurriedMs ?? commands.graceMs ?? DEFAULT_GRACE_MS;
}

interface Logs {
  push(stream: "stdout" | "stderr", chunk: Uint8Array): void;
  end(): void;
}

function openLogs(commands: ScriptDeps, { redact, ctx }: { redact: Redact; ctx: ExecutorCall["ctx"] }): Logs {
  const open = (stream: "stdout" | "stderr") =>
    makeLiveLog({
      emit: (data) => ctx.emit(stream, data),
      redact,
      monotonicMs: () => commands.clock.monotonicMs(),
    });
  const logs = { stdout: open("stdout"), stderr: open("stderr") };
  return {
    push(stream, chunk) {
      ctx.touch(stream);
      logs[stream].push(chunk);
    },
    end() {
      logs.stdout.end();
      logs.stderr.end();
    },
  };
}

function tell(
  message: Exclude<PythonMessage, { kind: "result" | "error" }>,
  { ctx, logs }: { ctx: ExecutorCall["ctx"]; logs: Logs },
): void {
  if (message.kind === "touch") ctx.touch(message.activity);
  else if (message.kind === "emit") ctx.emit(message.event, message.data);
  else logs.push(message.stream, Buffer.from(message.text));
}

function outcomeOf(
  end: Exclude<End, { kind: "aborted" }>,
  { redact, target }: { redact: Redact; target: PythonTarget },
): Outcome {
  if (end.kind === "answered") return outcomeOfAnswer(end.message, redact);
  const { exit, stderr, broken } = end.end;
  if (broken !== undefined)
    return {
      state: "failed",
      error: { code: "protocol", message: `the worker of ${target.function} was ended: ${broken}` },
    };
  // Even an exit of 0 is none here: nothing came back.
  const code = exit.exitCode === 0 ? 1 : exit.exitCode;
  return outcomeOfExit(
    { ...exit, exitCode: code },
    { stdout: "", stderr: redact(stderr), isTruncated: false },
  );
}

function outcomeOfAnswer(
  message: Extract<PythonMessage, { kind: "result" | "error" }>,
  redact: Redact,
): Outcome {
  // `None` is nothing to say.
  if (message.kind === "result")
    return message.result === null
      ? { state: "succeeded", output: "", isSilent: true, result: null }
      : outcomeOfResult(message.result);
  const { code, message: text, traceback } = message;
  return {
    state: "failed",
    error: { code, message: redact(text), ...(traceback !== "" && { stderrTail: redact(traceback) }) },
  };
}

/** (I3) One cheap look where nothing is left. */
async function endLeftovers(commands: ScriptDeps, { ctx, clock }: ExecutorCall): Promise<void> {
  const runId = ctx.run.id;
  if (!commands.marks || (await findLeft(commands.marks, clock, runId)).length === 0) return;
  const ended = await endRun(commands, { runId, known: [], graceMs: 2_000 });
  if (ended.ended.length + ended.survivors.length > 0)
    ctx.emit("process-ended", { why: "outlived the call", ...ended });
}
