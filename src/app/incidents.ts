// Incidents as people see them: list, show, acknowledge; and the node's loop that tells of what was held back.

import { digestHeldNews, localJob } from "../deliver/digest.ts";
import { Fault } from "../kernel/errors.ts";
import { formatInstant, type Instant, SECOND } from "../kernel/time.ts";
import type { Incident, IncidentState } from "../records/incident.ts";
import type { DueNews } from "../records/ledger/incidents.ts";
import type { Context } from "./context.ts";
import { Repeating } from "./repeating.ts";

/** News that was held back is this late at most. */
const TELL_EVERY_MS = 10 * SECOND;
/** Told in one digest; the rest follows in the next. */
const MOST_TOLD = 500;
const MOST_NOTE = 500;

export interface IncidentDocument {
  id: string;
  jobId: string;
  state: IncidentState;
  cause: string;
  error: string;
  openings: number;
  failures: number;
  firstAt: string;
  openedAt: string;
  lastAt: string;
  lastRunId: string;
  /** What people heard last: `failing`, `working`, or null. */
  told: string | null;
  toldAt: string | null;
  /** When news that was held back is told. */
  tellAt: string | null;
  acknowledgedBy: string | null;
  acknowledgedAt: string | null;
  note: string | null;
  resolvedAt: string | null;
  resolvedBy: string | null;
}

export interface IncidentListInput {
  state?: readonly IncidentState[];
  job?: string;
  before?: string;
  /** Default 50. */
  limit?: number;
}

/** Newest failure first; without `state` those that are not resolved. */
export async function listIncidents(context: Context, input: IncidentListInput): Promise<IncidentDocument[]> {
  const { state = ["open", "acknowledged"], job, before, limit = 50 } = input;
  const filter = { state, ...(job !== undefined && { jobId: job }), ...(before !== undefined && { before }) };
  return (await context.ledger.incidents({ ...filter, limit })).map(incidentDocument);
}

/** One incident, by id or a beginning of it. Throws `input.not-found`. */
export async function showIncident(context: Context, id: string): Promise<IncidentDocument> {
  return incidentDocument(await findIncident(context, id));
}

/** A person knows: nobody is told again until it is over. Throws `input.not-found`, `input.conflict`. */
export async function acknowledgeIncident(
  context: Context,
  id: string,
  { note }: { note?: string | undefined } = {},
): Promise<IncidentDocument> {
  const incident = await findIncident(context, id);
  const at = await context.ledger.now();
  const kept = note === undefined ? undefined : context.redact(note).slice(0, MOST_NOTE);
  const answer = await context.ledger.acknowledgeIncident(incident.id, { by: context.actor, note: kept, at });
  if (answer) return incidentDocument(answer);
  const now = await findIncident(context, incident.id);
  const by = now.state === "acknowledged" ? ` by ${now.acknowledgedBy}` : "";
  throw new Fault(
    "input.conflict",
    `incident ${now.id} is ${now.state}${by}; only open ones are acknowledged`,
    {
      hint: "See `nightshift incident list`.",
    },
  );
}

/** The loop of a node that tells of incidents whose news was held back (cool-down, flood). */
export function incidentNewsLoop(context: Context): Repeating {
  const work = async () => void (await tellHeldNews(context));
  return new Repeating({ ...context, what: "incident-news", everyMs: TELL_EVERY_MS, work });
}

/** Puts one digest per target for all held-back news that is due. Returns how many incidents it told of. */
export async function tellHeldNews(context: Context): Promise<number> {
  const { ledger } = context;
  const [now, dueAt] = await Promise.all([ledger.now(), ledger.nextNewsAt()]);
  if (dueAt === undefined || dueAt > now) return 0;
  return ledger.tellIncidents({ now, limit: MOST_TOLD, tell: (due) => heldNews(context, due) });
}

function heldNews(context: Context, due: readonly DueNews[]) {
  const held = due.map((one) => ({ incident: one.incident, job: jobOfNews(context, one) }));
  return digestHeldNews(held, (job) => context.rowsFor(job.origin));
}

function jobOfNews(context: Context, { incident, definition }: DueNews) {
  const { jobId } = incident;
  try {
    return definition ? context.parseJob(definition) : localJob(jobId, context.zone);
  } catch {
    return localJob(jobId, definition?.zone ?? context.zone);
  }
}

async function findIncident(context: Context, id: string): Promise<Incident> {
  const incident = await context.ledger.incident(id);
  if (incident) return incident;
  throw new Fault("input.not-found", `there is no incident "${id}"`, {
    hint: "See `nightshift incident list`.",
  });
}

const iso = (at: Instant | undefined) => (at === undefined ? null : formatInstant(at));

export function incidentDocument(incident: Incident): IncidentDocument {
  const { id, jobId, state, cause, error, openings, failures, lastRunId } = incident;
  return {
    id,
    jobId,
    state,
    cause,
    error,
    openings,
    failures,
    firstAt: formatInstant(incident.firstAt),
    openedAt: formatInstant(incident.openedAt),
    lastAt: formatInstant(incident.lastAt),
    lastRunId,
    told: incident.told ?? null,
    toldAt: iso(incident.toldAt),
    tellAt: iso(incident.tellAt),
    acknowledgedBy: incident.acknowledgedBy ?? null,
    acknowledgedAt: iso(incident.acknowledgedAt),
    note: incident.note ?? null,
    resolvedAt: iso(incident.resolvedAt),
    resolvedBy: incident.resolvedBy ?? null,
  };
}
