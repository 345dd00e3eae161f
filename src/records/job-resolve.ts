// From a document to a Job: defaults filled in, durations and instants read, schedule and targets parsed by their rooms.
//
// I1. Pure: `now`, zone and anchor are arguments; the same arguments give the same job.
// I2. Defaults come in this order: the document, the config's `defaults`, DESIGN §6.

import { Fault } from "../kernel/errors.ts";
import { type Instant, MINUTE, parseDuration, parseInstant, SECOND } from "../kernel/time.ts";
import { type AgentDefaults, agentWorkdir, agentWorkOf } from "./agent-document.ts";
import type { TargetSelector } from "./delivery.ts";
import type {
  Job,
  JobDocument,
  RetryDocument,
  RetryPolicy,
  TargetDocument,
  Work,
  WorkDocument,
} from "./job.ts";
import type { Schedule, ScheduleDocument } from "./schedule.ts";
import { triggersOf } from "./trigger.ts";

/** Reads a schedule. `anchor` fixes relative texts and intervals that carry none (T1, T2). Throws `schedule.*` faults. */
export type ParseSchedule = (
  source: ScheduleDocument,
  context: { zone: string; now: Instant; anchor?: Instant },
) => {
  schedule: Schedule;
  /** What was understood, for people (law 10). */
  display: string;
  /** The absolute form that a surface writes into the file (T2). */
  document: ScheduleDocument;
};

/** Reads targets, duplicates removed. Throws `target.*` faults. */
export type ParseTargets = (targets: readonly TargetDocument[]) => TargetSelector[];

/** T5: throws a fault when this jitter is too large for this schedule. */
export type CheckJitter = (schedule: Schedule, jitterMs: number) => void;

/** The config's `defaults`: the parts of a job document that a home may preset. */
export type JobDefaults = Pick<
  JobDocument,
  "timeout" | "catchUp" | "catchUpLimit" | "overlap" | "retry" | "autoPause" | "deliver" | "onFailure"
>;

export interface ResolveContext {
  /** The job's zone where the document names none: fixed at first sight (T1). */
  zone: string;
  anchor: Instant;
  now: Instant;
  defaults?: JobDefaults;
  agentDefaults?: AgentDefaults;
  /** `NIGHTSHIFT_IDLE_TIMEOUT`, read by `parseIdleOverride` (L14). */
  idleOverrideMs?: number;
  parseSchedule: ParseSchedule;
  parseTargets: ParseTargets;
  checkJitter: CheckJitter;
}

/** @source SEMANTICS L14: silence that ends a run, by kind of work. A workflow's tasks have limits of their own. */
const IDLE_DEFAULT_MS: Record<Work["kind"], number> = {
  script: 60 * MINUTE,
  agent: 10 * MINUTE,
  workflow: 0,
  task: 0,
};
const TASK_TOTAL_MS = 30 * SECOND;
/** Waits between attempts: 30 s, 1 min, 2 min, … up to an hour. */
const RETRY_DEFAULT = { delayMs: 30 * SECOND, backoff: 2, maxDelayMs: 60 * MINUTE };

/**
 * The job a document means.
 * @throws Fault of the passed functions (T2, T5, O4).
 */
export function resolveJob(document: JobDocument, context: ResolveContext): Job {
  const defaults = context.defaults ?? {};
  const timezone = document.timezone ?? context.zone;
  const schedule = resolveSchedule(document, context, timezone);
  const work = workOf(document.run, context.agentDefaults ?? {});
  const deliver = document.deliver ?? defaults.deliver;
  const delivered = deliver ? context.parseTargets(deliver) : defaultTargets(document, context);
  const onFailure = document.onFailure ?? defaults.onFailure;
  return {
    id: document.id,
    name: document.name ?? document.id,
    schedule,
    timezone,
    on: triggersOf(document.on ?? []),
    work,
    deliver: delivered,
    onFailure: onFailure ? context.parseTargets(onFailure) : delivered,
    environment: document.environment ?? "local",
    ...limitsOf(work, document, context),
    catchUp: document.catchUp ?? defaults.catchUp ?? "skip",
    catchUpLimit: document.catchUpLimit ?? defaults.catchUpLimit ?? 10,
    overlap: document.overlap ?? defaults.overlap ?? "skip",
    effects: document.effects ?? "external",
    retry: retryPolicy({ ...defaults.retry, ...document.retry }),
    autoPause: document.autoPause ?? defaults.autoPause,
    jitterMs: resolveJitter(document, schedule, context),
    repeat: document.repeat,
    until: document.until === undefined ? undefined : parseInstant(document.until),
    env: document.env ?? {},
    workdir: document.workdir ?? agentWorkdir(document.run),
    enabled: document.enabled ?? true,
    origin: document.origin,
  };
}

/**
 * Reads `NIGHTSHIFT_IDLE_TIMEOUT`: a duration, or `0` = off. Undefined when unset or empty.
 * @throws Fault `config.invalid` for anything else (L14: garbage is an error).
 */
export function parseIdleOverride(value: string | undefined): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const ms = value.trim() === "0" ? 0 : parseDuration(value);
  if (ms !== undefined) return ms;
  throw new Fault("config.invalid", `NIGHTSHIFT_IDLE_TIMEOUT is "${value}", which is no duration`, {
    hint: "Set it to a duration such as 30m, or to 0 for none.",
  });
}

function resolveSchedule(document: JobDocument, context: ResolveContext, zone: string): Schedule | undefined {
  if (document.schedule === undefined) return undefined;
  const { now, anchor } = context;
  return context.parseSchedule(document.schedule, { zone, now, anchor }).schedule;
}

/** DESIGN §6: origin if there is one, else local. */
function defaultTargets(document: JobDocument, context: ResolveContext): TargetSelector[] {
  return document.origin ? [{ kind: "origin" }] : context.parseTargets(["local"]);
}

function workOf(run: WorkDocument, agentDefaults: AgentDefaults): Work {
  if (run.script !== undefined) return { kind: "script", script: run.script, args: run.args ?? [] };
  if (run.agent) return { kind: "agent", agent: agentWorkOf(run.agent, agentDefaults) };
  if (run.workflow) return { kind: "workflow", workflow: run.workflow };
  if (run.task)
    return {
      kind: "task",
      executor: run.task.executor,
      params: run.task.params ?? {},
      queue: run.task.queue,
    };
  throw new Fault("job.invalid", "run names no work", {
    hint: "Write script, agent, workflow or task under run.",
  });
}

function limitsOf(work: Work, document: JobDocument, context: ResolveContext) {
  const idle = document.timeout?.idle ?? context.defaults?.timeout?.idle;
  const total = document.timeout?.total ?? context.defaults?.timeout?.total;
  return {
    idleTimeoutMs: context.idleOverrideMs ?? limitMs(idle) ?? IDLE_DEFAULT_MS[work.kind],
    totalTimeoutMs: limitMs(total) ?? (work.kind === "task" ? TASK_TOTAL_MS : 0),
  };
}

function limitMs(limit: string | 0 | undefined): number | undefined {
  return typeof limit === "string" ? parseDuration(limit) : limit;
}

function retryPolicy(retry: RetryDocument): RetryPolicy {
  return {
    max: retry.max ?? 0,
    delayMs: durationMs(retry.delay) ?? RETRY_DEFAULT.delayMs,
    backoff: retry.backoff ?? RETRY_DEFAULT.backoff,
    maxDelayMs: durationMs(retry.maxDelay) ?? RETRY_DEFAULT.maxDelayMs,
    on: retry.on ?? [],
    notOn: retry.notOn ?? [],
  };
}

function durationMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

function resolveJitter(
  document: JobDocument,
  schedule: Schedule | undefined,
  context: ResolveContext,
): number {
  const jitterMs = durationMs(document.jitter) ?? 0;
  if (jitterMs === 0 || !schedule) return jitterMs;
  context.checkJitter(schedule, jitterMs);
  return jitterMs;
}
