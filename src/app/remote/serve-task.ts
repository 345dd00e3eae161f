// Tasks of other machines' workflows, done here: `POST /execute`, its long poll, its cancel (W5; peers.md §5.2, 11).
//
// I1. One key is done once: a repetition joins what runs and is answered from what is stored, also after a restart. Only a
//     higher attempt number runs again what did not succeed.
// I2. What this node would hand on to others is not served: two nodes that name each other would go round in circles.

import { createHash } from "node:crypto";
import { linkAbort } from "../../kernel/abort.ts";
import { Fault } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import { formatDuration, formatInstant, SECOND } from "../../kernel/time.ts";
import { queueOf } from "../../orchestrate/queues/admit.ts";
import { registrationOf } from "../../orchestrate/resources/choose.ts";
import type { Executor } from "../../records/executor.ts";
import type { JobDocument } from "../../records/job.ts";
import type { NewRun } from "../../records/ledger/claims.ts";
import type { ExecuteAnswer, ExecuteRequest, RemoteCaller } from "../../records/remote.ts";
import { isTerminal, type Run } from "../../records/run.ts";
import { resolveResources } from "../../records/workflow-resolve.ts";
import type { Context } from "../context.ts";
import { requireTask } from "../executors/require-task.ts";
import { requirePossible } from "../resources/impossible.ts";
import { waitForChange } from "../wait-for-change.ts";
import { DEFAULT_QUEUE } from "../workflows/task-rows.ts";
import { REMOTE_KEY, type RemoteLeases } from "./remote-leases.ts";

export interface Door {
  context: Context;
  leases: RemoteLeases;
}

/** Whoever has not asked for so long has gone. */
const LEASE_MS = 30 * SECOND;
/** A longer key, or one with other signs, is told by its digest. */
const PLAIN_KEY = /^[\w.:@+/=-]{1,200}$/;
const HIDDEN = ["shell_exec"];

/**
 * Queues it, or finds what the key stands for. `allowed` = what the caller may call; undefined = everything.
 * Throws `executor.unknown`, `executor.params`, `input.refused`, `input.conflict` (the key is another task's), `auth.forbidden`.
 */
export async function acceptTask(
  { context, leases }: Door,
  request: ExecuteRequest,
  allowed: { executors: readonly string[] | undefined } | undefined,
): Promise<ExecuteAnswer> {
  requireAllowed(request.executor, allowed);
  const executor = await servedExecutor(context, request);
  const dedupeKey = keyOf(request);
  const digest = digestOf(request);
  const newest = (await context.ledger.attempts(dedupeKey)).at(-1);
  const caller = newest?.admission?.caller;
  if (caller && caller.digest !== digest)
    throw new Fault("input.conflict", "The idempotency key was used for another task.", {
      hint: "Give each task a key of its own, and repeat it only with the same executor and params.",
      details: { key: request.idempotencyKey },
    });
  if (newest && !isNewAttempt(newest, request)) {
    leases.renew(newest);
    return answerOf(context, newest);
  }
  const timeoutMs = limitOf(context, executor, request);
  const now = await context.ledger.now();
  const attempt = (newest?.attempt ?? 0) + 1;
  const run = newRun(context, { request, executor, dedupeKey, digest, attempt, timeoutMs, now });
  const [queued] = await context.ledger.enqueue([run]);
  if (!queued) throw new Error(`the ledger took no run ${run.id}`);
  leases.renew(queued, timeoutMs === 0 ? undefined : timeoutMs);
  await context.ledger.wakeOthers();
  return answerOf(context, queued);
}

/** How it stands, at the latest after `waitMs`, at once when it is over. Renews its lease. Throws `input.not-found`. */
export async function readTask(
  { context, leases }: Door,
  id: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<ExecuteAnswer> {
  const until = context.clock.monotonicMs() + waitMs;
  const patience = linkAbort(signal);
  try {
    for (;;) {
      const run = await servedRun(context, id);
      leases.renew(run);
      const leftMs = until - context.clock.monotonicMs();
      if (isTerminal(run.state) || leftMs <= 0 || signal.aborted) return answerOf(context, run);
      await waitForChange(context, { atMostMs: leftMs, signal: patience.signal });
    }
  } finally {
    patience.release();
  }
}

/** By its id, or by what its caller knows of it before it was answered. */
export type TaskName = { id: string } | { executor: string; key: string };

/** Asks for its end. One that is over stays as it is. Throws `input.not-found`. */
export async function cancelTask({ context }: Door, name: TaskName): Promise<ExecuteAnswer> {
  const run = "id" in name ? await servedRun(context, name.id) : await runOfKey(context, name);
  if (isTerminal(run.state)) return answerOf(context, run);
  await context.ledger.requestCancel(run.id, "caller", await context.ledger.now());
  await context.ledger.wakeOthers();
  return answerOf(context, await servedRun(context, run.id));
}

/** Whether another machine's node may call it by its own token. */
export function isAllowed(executor: string, executors: readonly string[] | undefined): boolean {
  return executors ? executors.includes(executor) : !HIDDEN.includes(executor);
}

function requireAllowed(
  executor: string,
  allowed: { executors: readonly string[] | undefined } | undefined,
): void {
  if (!allowed || isAllowed(executor, allowed.executors)) return;
  throw new Fault("auth.forbidden", `This token may not call ${executor}.`, {
    hint: "Name it under http.nodes.<name>.executors in config.yaml.",
  });
}

/** (I2) */
async function servedExecutor(context: Context, request: ExecuteRequest): Promise<Executor> {
  const found = await requireTask(context.executors, request);
  const here = found.filter(({ kind }) => kind !== "remote");
  const { version, executor: name } = request;
  const executor = registrationOf(here, { version });
  if (!executor) {
    const of = version === undefined ? "" : ` of version ${version}`;
    throw new Fault("executor.unknown", `no executor "${name}"${of} is served here`, {
      hint: "See `nightshift executor list` on this machine.",
    });
  }
  const resources = request.resources && resolveResources(request.resources);
  await requirePossible(context, here, { version, resources });
  return executor;
}

/** The executor belongs to the key: two tasks of one caller may give the same key of their own. */
function keyOf({
  executor,
  idempotencyKey: key,
}: Pick<ExecuteRequest, "executor" | "idempotencyKey">): string {
  const told = PLAIN_KEY.test(key) ? key : `sha256:${createHash("sha256").update(key).digest("hex")}`;
  return `${REMOTE_KEY}${executor}/${told}`;
}

function digestOf({ executor, params, env = {} }: ExecuteRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([executor, params, env]))
    .digest("hex");
}

/** (I1) */
function isNewAttempt({ state, admission }: Run, { attempt = 1 }: ExecuteRequest): boolean {
  const isDone = state === "succeeded" || state === "partiallySucceeded";
  return isTerminal(state) && !isDone && attempt > (admission?.caller?.attempt ?? 1);
}

/** The shorter of what the caller and what the contract allows; 0 = no limit. */
function limitOf({ config }: Context, { contract }: Executor, { timeoutMs }: ExecuteRequest): number {
  const own = contract.timeoutMs ?? (timeoutMs === undefined ? config.orchestrator.defaultTimeoutMs : 0);
  const limits = [own, timeoutMs ?? 0].filter((ms) => ms > 0);
  return limits.length > 0 ? Math.min(...limits) : 0;
}

interface NewRunParts {
  request: ExecuteRequest;
  executor: Executor;
  dedupeKey: string;
  digest: string;
  attempt: number;
  timeoutMs: number;
  now: number;
}

function newRun(context: Context, parts: NewRunParts): NewRun {
  const { request, executor, dedupeKey, digest, attempt, timeoutMs, now } = parts;
  const { executor: name, params, env, version, resources, run, task, leaseMs = LEASE_MS } = request;
  const id = makeId(now, context.random);
  const document: JobDocument = {
    ...{ id: name, timezone: context.zone, effects: executor.contract.effects },
    run: { task: { executor: name, params } },
    ...(env && { env }),
    timeout: { total: timeoutMs === 0 ? 0 : formatDuration(timeoutMs) },
    // Whoever asked for it decides what follows, and tells its people.
    ...{ retry: { max: 0 }, deliver: [], onFailure: [] },
  };
  const caller: RemoteCaller = {
    ...{ run, task, attempt: request.attempt ?? 1, leaseMs, digest },
    ...(timeoutMs > 0 && { deadlineAt: now + timeoutMs }),
  };
  return {
    ...{ id, dedupeKey, attempt, kind: "task", jobId: undefined, version: undefined, parentId: undefined },
    ...{
      rootId: id,
      slot: undefined,
      trigger: "event",
      effects: executor.contract.effects,
      isExclusive: false,
    },
    ...{
      idempotencyKey: request.idempotencyKey,
      readyAt: now,
      createdAt: now,
      input: JSON.stringify(document),
    },
    queue: DEFAULT_QUEUE,
    admission: {
      ...{
        priority: queueOf(context.config.queues, undefined).priority,
        enqueuedAt: now,
        executor: name,
        caller,
      },
      ...(version !== undefined && { version }),
      ...(resources && { resources: resolveResources(resources) }),
    },
  };
}

/** The newest attempt of the task: a rerun may have followed the run that was named. */
async function servedRun({ ledger }: Context, id: string): Promise<Run> {
  const run = await ledger.run(id);
  if (run && "id" in run && run.id === id && run.dedupeKey.startsWith(REMOTE_KEY)) {
    const newest = (await ledger.attempts(run.dedupeKey)).at(-1);
    return newest ?? run;
  }
  throw unknownTask(id);
}

async function runOfKey(
  { ledger }: Context,
  { executor, key }: Extract<TaskName, { key: string }>,
): Promise<Run> {
  const newest = (await ledger.attempts(keyOf({ executor, idempotencyKey: key }))).at(-1);
  if (!newest) throw unknownTask(key);
  return newest;
}

function unknownTask(name: string): Fault {
  return new Fault("input.not-found", `there is no task "${name}" of another machine`, {
    hint: "Ask for it again with its idempotency key.",
  });
}

function answerOf({ clock }: Pick<Context, "clock">, run: Run): ExecuteAnswer {
  const iso = (instant: number | undefined) => (instant === undefined ? null : formatInstant(instant));
  return {
    ...{ id: run.id, state: run.state, isOver: isTerminal(run.state), reason: run.reason ?? null },
    outcome: run.outcome ?? null,
    createdAt: formatInstant(run.createdAt),
    ...{ startedAt: iso(run.startedAt), finishedAt: iso(run.finishedAt), now: formatInstant(clock.now()) },
  };
}
