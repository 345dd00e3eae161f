// `plan`: what each job's policies would do with a stretch of time, with outages, before it happens.

import { Fault } from "../kernel/errors.ts";
import { formatInstant, type Instant, parseInstant } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import { type CarriedRun, type Outage, type SlotFate, simulate } from "../schedule/plan.ts";
import { firstInstantOf, openZone } from "../schedule/zone.ts";
import type { Context } from "./context.ts";
import { jobState } from "./documents.ts";

export interface PlanEntry {
  jobId: string;
  first: string;
  last: string;
  count: number;
  fate: string;
  reason: string | null;
  startsAt: string | null;
  lateMs: number | null;
}

export interface PlanDocument {
  from: string;
  until: string;
  down: { from: string; to: string }[];
  slots: PlanEntry[];
}

export interface PlanInput {
  from: Instant;
  until: Instant;
  down: readonly Outage[];
  jobId?: string;
}

/** Every slot's fate over [from, until). Durations come from each job's own last run. */
export async function planSlots(context: Context, input: PlanInput): Promise<PlanDocument> {
  const views = (await context.ledger.jobs()).filter(
    (view) => input.jobId === undefined || view.definition.jobId === input.jobId,
  );
  const scheduled = views.filter(
    (view) => jobState(view.cursor, JSON.parse(view.definition.document)).state === "scheduled",
  );
  const jobs: Job[] = scheduled.map((view) => context.parseJob(view.definition));
  const last = await context.ledger.lastRuns(jobs.map((job) => job.id));
  const durationMsOf = (job: Job) => {
    const run = last.get(job.id);
    return run?.startedAt !== undefined && run.finishedAt !== undefined ? run.finishedAt - run.startedAt : 0;
  };
  const now = await context.ledger.now();
  const openRunsOf = await openRunsAt(context, { views: scheduled, now, from: input.from, durationMsOf });
  const { from, until, down } = input;
  const fates = simulate({ jobs, from, until, down, durationMsOf, openRunsOf });
  return {
    from: formatInstant(input.from),
    until: formatInstant(input.until),
    down: input.down.map(({ from, to }) => ({ from: formatInstant(from), to: formatInstant(to) })),
    slots: fates.map(planEntry),
  };
}

interface OpenRunsInput {
  views: readonly JobView[];
  now: Instant;
  from: Instant;
  durationMsOf(job: Job): number;
}

/** What is open now and will be at `from`: a slot that meets it overlaps (T7). */
async function openRunsAt(
  context: Context,
  { views, now, from, durationMsOf }: OpenRunsInput,
): Promise<(job: Job) => CarriedRun[]> {
  const live = await context.ledger.runs({ state: ["claimed", "running", "cancelling"], limit: MOST_LIVE });
  const startOf = new Map(live.map((run) => [run.id, run.startedAt]));
  const open = new Map(views.map((view) => [view.definition.jobId, view.openRuns]));
  return (job) =>
    (open.get(job.id) ?? [])
      .filter(({ state }) => state !== "waiting")
      .map((run): CarriedRun => {
        if (run.state === "queued") return { ...run, endsAt: undefined };
        return { ...run, endsAt: expectedEnd(startOf.get(run.id) ?? now, now, durationMsOf(job)) };
      })
      .filter(({ endsAt }) => endsAt === undefined || endsAt > from);
}

/** More live runs than any node holds. */
const MOST_LIVE = 10_000;

/** As long as the last one took; one that has outlasted it, for as long again as it has run by now. */
function expectedEnd(startedAt: Instant, now: Instant, durationMs: number): Instant {
  const usual = startedAt + durationMs;
  return usual > now ? usual : now + (now - startedAt) + 1;
}

function planEntry(fate: SlotFate): PlanEntry {
  return {
    jobId: fate.jobId,
    first: formatInstant(fate.first),
    last: formatInstant(fate.last),
    count: fate.count,
    fate: fate.fate,
    reason: fate.reason ?? null,
    startsAt: fate.startsAt === undefined ? null : formatInstant(fate.startsAt),
    lateMs: fate.lateMs ?? null,
  };
}

const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)$/;
const NAIVE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$/;

/**
 * `02:00..05:00` (every day of the stretch) or `A..B` with instants. What names no offset is read on the wall clock of
 * `zone`, never on the machine's. Throws `input.usage`.
 */
export function parseOutages(
  text: string,
  window: { from: Instant; until: Instant; zone: string },
): Outage[] {
  const [start = "", end = "", ...rest] = text.split("..");
  const clocks = [CLOCK.exec(start.trim()), CLOCK.exec(end.trim())];
  if (rest.length === 0 && clocks[0] && clocks[1])
    return dailyOutages(window, minuteOf(clocks[0]), minuteOf(clocks[1]));
  const [from, to] = [start, end].map((part) => instantIn(window.zone, part.trim()));
  if (rest.length === 0 && from !== undefined && to !== undefined && from < to) return [{ from, to }];
  throw new Fault("input.usage", `--down "${text}" is no stretch of time.`, {
    hint: "Write 02:00..05:00 (each day, in the zone), or two instants: 2026-11-29T02:00:00Z..2026-11-29T05:00:00Z.",
  });
}

function instantIn(zone: string, text: string): Instant | undefined {
  if (!NAIVE.test(text)) return parseInstant(text);
  const wall = parseInstant(text.includes("T") ? `${text}Z` : `${text}T00:00:00Z`);
  return wall === undefined ? undefined : firstInstantOf(openZone(zone), wall);
}

function minuteOf(match: RegExpExecArray): number {
  return Number(match[1]) * 60 + Number(match[2]);
}

/** On the zone's wall clock, so that an outage across a DST change is as long as it really is. */
function dailyOutages(
  window: { from: Instant; until: Instant; zone: string },
  startMinute: number,
  endMinute: number,
): Outage[] {
  const zone = openZone(window.zone);
  const outages: Outage[] = [];
  const dayMs = 86_400_000;
  const firstDay = Math.floor((window.from + zone.offsetAt(window.from)) / dayMs) - 1;
  for (let day = firstDay; ; day++) {
    const from = firstInstantOf(zone, day * dayMs + startMinute * 60_000);
    const isOvernight = endMinute <= startMinute;
    const to = firstInstantOf(zone, (day + (isOvernight ? 1 : 0)) * dayMs + endMinute * 60_000);
    if (from >= window.until) return outages;
    if (to > window.from) outages.push({ from, to });
  }
}
