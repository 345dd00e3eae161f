// A job document before it counts: read, fixed in time, and checked against everything that can be known now (law 8).

import { jobTargets, requireRoute } from "../deliver/route.ts";
import { selectorText } from "../deliver/targets.ts";
import { Fault, isFault, nearestWord, sayFault } from "../kernel/errors.ts";
import { formatInstant, type Instant } from "../kernel/time.ts";
import type { AgentWork } from "../records/agent-work.ts";
import type { Job, JobDocument } from "../records/job.ts";
import { parseJobDocument } from "../records/job-document.ts";
import { resolveJob } from "../records/job-resolve.ts";
import type { Schedule } from "../records/schedule.ts";
import { isPast, parseSchedule } from "../schedule/grammar.ts";
import { checkJitter } from "../schedule/jitter.ts";
import { nextSlot } from "../schedule/next-slot.ts";
import type { Context } from "./context.ts";
import { checkScriptPlace } from "./environments.ts";

export interface CheckedDocument {
  /** With zone, anchor and instants written out: what goes into the file (T1, T2). */
  document: JobDocument;
  job: Job;
  /** The meaning of its schedule in words; undefined = by hand. */
  display: string | undefined;
  warnings: string[];
}

export interface CheckOptions {
  now: Instant;
  zone: string;
  anchor: Instant;
  /** A surface refuses a past instant (T3); a change that leaves the schedule alone does not look at it. */
  refusePast: boolean;
  /** What cannot be reached or run is a warning instead of a refusal. Default false. */
  isLenient?: boolean;
  /** A person watches the run: it may be granted the tool to schedule (law 7). Default false. */
  isAttended?: boolean;
}

/**
 * Everything a surface checks at creation and change. Throws `schedule.*`, `target.*`, `script.*`, `job.invalid`,
 * `environment.unusable`, `executor.unknown`, `executor.params`.
 */
export async function checkDocument(
  context: Context,
  document: JobDocument,
  options: CheckOptions,
): Promise<CheckedDocument> {
  const zone = document.timezone ?? options.zone;
  const parsed =
    document.schedule === undefined
      ? undefined
      : parseSchedule(document.schedule, { zone, now: options.now, anchor: options.anchor });
  const fixed: JobDocument = parsed ? { ...document, schedule: parsed.document, timezone: zone } : document;
  if (parsed && options.refusePast) refusePast(parsed.schedule, options.now);
  const job = context.resolveDocument(fixed, { ...options, zone });
  const warnings = warningsOf(job, parsed?.schedule, options.now);
  const faults: Fault[] = [];
  const checks = [
    () => checkRoute(context, fixed),
    () => checkTriggers(context, job),
    () => checkWork(context, job, options),
  ];
  for (const check of checks) {
    const fault = await faultOf(check);
    if (fault && options.isLenient) warnings.push(fault.message);
    else if (fault) faults.push(fault);
  }
  const [first, ...others] = faults;
  if (first) throw joinFaults([first, ...others]);
  return { document: fixed, job, display: parsed?.display, warnings };
}

async function checkRoute(context: Context, document: JobDocument): Promise<void> {
  const { deliver, onFailure } = jobTargets(document, context.platforms);
  requireRoute([...deliver, ...onFailure], context.routeFor(document.origin));
}

/** W7: a job that waits for what nobody can send is refused. */
async function checkTriggers({ config }: Context, { on }: Job): Promise<void> {
  const missing = on.find(({ kind, name }) => kind === "webhook" && !Object.hasOwn(config.http.hooks, name));
  if (!missing) return;
  const near = nearestWord(missing.name, Object.keys(config.http.hooks));
  throw new Fault("job.invalid", `There is no webhook "${missing.name}".`, {
    hint: near
      ? `Did you mean "${near}"?`
      : `Configure it first: http.hooks.${missing.name} in config.yaml, with a secret.`,
  });
}

/** Several faults as one, so that a person corrects them at once: the first one's code, each with what to do about it. */
export function joinFaults(faults: readonly [Fault, ...Fault[]]): Fault {
  const [first] = faults;
  if (faults.length === 1) return first;
  const { hint } = faults.at(-1) ?? first;
  return new Fault(first.code, faults.map(sayFault).join("\n"), {
    ...{ hint, cause: first },
    ...(first.place && { place: first.place }),
  });
}

async function faultOf(check: () => Promise<void>): Promise<Fault | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (!isFault(error)) throw error;
    return error;
  }
}

/** A surface's draft through the same codec as a file, so that every surface refuses the same things in the same words. */
export function parseDraft(draft: JobDocument): JobDocument {
  try {
    return parseJobDocument(JSON.stringify(draft), { file: "job", defaultId: draft.id }).document;
  } catch (error) {
    if (!isFault(error)) throw error;
    // A person typed options, not this text: its lines and columns would mean nothing to them.
    const message = error.message.replace(/^job:\d+:\d+: /gm, "");
    throw new Fault(error.code, message, { hint: error.hint, cause: error });
  }
}

/** What a dropped file is parsed with; nothing is checked that could change by itself (script, targets). Throws as `resolveJob`. */
export function resolveDocument(
  context: Pick<Context, "config" | "idleOverrideMs" | "parseTargets">,
  document: JobDocument,
  fixed: { zone: string; anchor: Instant; now: Instant },
): Job {
  return resolveJob(document, {
    ...fixed,
    defaults: context.config.defaults,
    agentDefaults: context.config.agentDefaults,
    ...(context.idleOverrideMs !== undefined && { idleOverrideMs: context.idleOverrideMs }),
    parseSchedule,
    parseTargets: (targets) => context.parseTargets(targets),
    checkJitter,
  });
}

async function checkWork(context: Context, job: Job, options: CheckOptions): Promise<void> {
  for (const trigger of job.on) if ("executor" in trigger) await checkTask(context, trigger);
  if (job.work.kind === "task") return checkTask(context, job.work);
  if (job.work.kind === "agent") return checkAgentWork(context, { job, agent: job.work.agent }, options);
  if (job.work.kind === "workflow") {
    const { checkJobWorkflow } = await import("./workflows/check-job.ts");
    await checkJobWorkflow(context, job.work.workflow);
  }
  if (job.work.kind !== "script") return;
  await checkScriptPlace(context, job, job.work);
}

/** Loaded for tasks only. An embedding program that does tasks in its own way knows what it can do. */
async function checkTask(
  context: Context,
  task: { executor: string; params: Readonly<Record<string, unknown>> },
): Promise<void> {
  if (context.work.task) return;
  const [{ requireTask }, { requirePossible }] = await Promise.all([
    import("./executors/require-task.ts"),
    import("./resources/impossible.ts"),
  ]);
  await requirePossible(context, await requireTask(context.executors, task), {});
}

/** Loaded for agents only: what judges them brings models and skills along. */
async function checkAgentWork(
  context: Context,
  { job, agent }: { job: Job; agent: AgentWork },
  { isAttended = false }: CheckOptions,
): Promise<void> {
  const { checkAgent } = await import("./agent/check-agent.ts");
  await checkAgent(context, job, agent, { isAttended, signal: new AbortController().signal });
}

function refusePast(schedule: Schedule, now: Instant): void {
  if (!isPast(schedule, now)) return;
  const what =
    schedule.kind === "at"
      ? `the instant ${formatInstant(schedule.at)} has passed`
      : "the schedule has no slot left";
  throw new Fault("schedule.past", `${what}; it is now ${formatInstant(now)}.`, {
    hint: "Name an instant to come.",
  });
}

function warningsOf(job: Job, schedule: Schedule | undefined, now: Instant): string[] {
  const warnings: string[] = [];
  if (job.until !== undefined && job.until <= now)
    warnings.push(`until ${formatInstant(job.until)} has passed: it will never run.`);
  if (schedule?.kind === "cron" && job.catchUp === "all" && job.overlap === "replace") {
    warnings.push("catchUp: all with overlap: replace lets each caught-up slot cancel the one before it.");
  }
  return warnings;
}

/** The first `count` slots after `now`, as far as `until` and `repeat` allow. */
export function nextSlots(job: Job, now: Instant, count: number): Instant[] {
  const slots: Instant[] = [];
  if (!job.schedule || !job.enabled) return slots;
  const limit = Math.min(count, job.repeat ?? count);
  let after = now;
  while (slots.length < limit) {
    const slot = nextSlot(job.schedule, after);
    if (slot === undefined || (job.until !== undefined && slot > job.until)) break;
    slots.push(slot);
    after = slot;
  }
  return slots;
}

/** Where a job's results go, as people write it. */
export function targetTexts(job: Job): string[] {
  return job.deliver.map(selectorText);
}
