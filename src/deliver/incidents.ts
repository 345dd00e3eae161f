// What a failure or a success means for a job's incidents, and whether people hear of it now. Pure.
//
// I1. People are told when what they heard last is no longer true: an incident opens, another cause appears, the job works.
// I2. News is held back, never dropped: `tellAt` says when the truth of that moment is told (incident-digest.ts).
// I3. What nobody heard of needs no recovery.

import { createHash } from "node:crypto";
import { HOUR, type Instant } from "../kernel/time.ts";
import type { AlertLimits, Incident, IncidentFacts } from "../records/incident.ts";

/** @source issue D 7; a flapping job tells once an hour, a broken network twenty times before it becomes a digest. */
export const DEFAULT_ALERTS: AlertLimits = { perHour: 20, coolDownMs: HOUR };
/** Flood control counts over this long. */
export const FLOOD_MS = HOUR;
/** A job whose every failure reads differently has no more open incidents than this: the oldest give way. */
const MOST_OPEN = 20;
const MAX_ERROR = 500;

export interface Failure {
  jobId: string;
  cause: string;
  /** One sentence. */
  error: string;
  runId: string;
  at: Instant;
}

export interface FailureOptions {
  limits: AlertLimits;
  /** False = the job alerts nobody. */
  hasListeners: boolean;
  /**
   * `usual` · `unheld` = it goes into a message made elsewhere, which nothing holds back · `always` = people must hear of it
   * now, whatever they know.
   */
  urgency: "usual" | "unheld" | "always";
}

export interface IncidentPlan {
  /** Rows that changed. */
  incidents: Incident[];
  /** Whether people are told now. */
  isNews: boolean;
  /** This alert is the hour's last single one: the digest comes then. */
  digestAt: Instant | undefined;
}

/** The same over restarts; readable in lists. */
export function incidentId(jobId: string, cause: string): string {
  return `${jobId}-${createHash("sha256").update(cause).digest("hex").slice(0, 12)}`;
}

/** A failure: its incident opens, or goes on. */
export function planFailure(facts: IncidentFacts, failure: Failure, options: FailureOptions): IncidentPlan {
  const known = facts.incidents.find(({ cause }) => cause === failure.cause);
  const noted = noteFailure(known, failure);
  const superseded = supersede(facts.incidents, noted);
  const told = tell(noted, { known, facts, at: failure.at, ...options });
  return { ...told, incidents: [...superseded, told.incident] };
}

/** A success: every incident of the job is over. News where people believed that it fails. */
export function planRecovery(facts: IncidentFacts, at: Instant, limits: AlertLimits): IncidentPlan {
  const open = facts.incidents.filter(({ state }) => state !== "resolved");
  const isBelieved = open.some(({ told }) => told === "failing");
  const floodEnd = floodEndsAt(facts, at, limits);
  const isNews = isBelieved && floodEnd === undefined;
  const incidents = open.map((incident): Incident => {
    const resolved: Incident = { ...incident, state: "resolved", resolvedAt: at, resolvedBy: "recovery" };
    if (incident.told !== "failing") return { ...resolved, tellAt: undefined };
    return isNews
      ? { ...resolved, told: "working", toldAt: at, tellAt: undefined }
      : { ...resolved, tellAt: floodEnd };
  });
  return { incidents, isNews, digestAt: undefined };
}

function noteFailure(known: Incident | undefined, failure: Failure): Incident {
  const { jobId, cause, runId, at } = failure;
  const error = failure.error.replace(/\s+/g, " ").trim().slice(0, MAX_ERROR);
  const newest = { error, lastAt: at, lastRunId: runId };
  if (known && known.state !== "resolved") return { ...known, ...newest, failures: known.failures + 1 };
  return {
    told: undefined,
    toldAt: undefined,
    alertedAt: undefined,
    firstAt: at,
    id: incidentId(jobId, cause),
    ...known,
    ...newest,
    jobId,
    cause,
    state: "open",
    openings: (known?.openings ?? 0) + 1,
    failures: 1,
    openedAt: at,
    tellAt: undefined,
    acknowledgedBy: undefined,
    acknowledgedAt: undefined,
    note: undefined,
    resolvedAt: undefined,
    resolvedBy: undefined,
  };
}

/** Makes room for a new one. */
function supersede(incidents: readonly Incident[], noted: Incident): Incident[] {
  const others = incidents.filter(({ state, cause }) => state !== "resolved" && cause !== noted.cause);
  return others
    .toSorted((a, b) => b.lastAt - a.lastAt)
    .slice(MOST_OPEN - 1)
    .map((incident) => ({
      ...incident,
      state: "resolved",
      resolvedAt: noted.lastAt,
      resolvedBy: "superseded",
      tellAt: undefined,
    }));
}

interface Telling extends FailureOptions {
  known: Incident | undefined;
  facts: IncidentFacts;
  at: Instant;
}

function tell(
  noted: Incident,
  { known, facts, at, limits, hasListeners, urgency }: Telling,
): Omit<IncidentPlan, "incidents"> & { incident: Incident } {
  const isKnown = noted.told === "failing" || noted.state === "acknowledged";
  if (!hasListeners || (isKnown && urgency !== "always"))
    return { incident: { ...noted, tellAt: undefined }, isNews: false, digestAt: undefined };
  const heldUntil = urgency === "usual" ? holdUntil({ noted, known, facts, at, limits }) : undefined;
  if (heldUntil !== undefined)
    return { incident: { ...noted, tellAt: heldUntil }, isNews: false, digestAt: undefined };
  const isLast = facts.toldLately.count + 1 === limits.perHour;
  const incident: Incident = { ...noted, told: "failing", toldAt: at, alertedAt: at, tellAt: undefined };
  return {
    incident,
    isNews: true,
    digestAt: isLast ? (facts.toldLately.firstAt ?? at) + FLOOD_MS : undefined,
  };
}

function holdUntil({
  noted,
  known,
  facts,
  at,
  limits,
}: Omit<Telling, "hasListeners" | "urgency"> & { noted: Incident }): Instant | undefined {
  // What waits already keeps its time: a failure a minute must not push it away.
  if (noted.tellAt !== undefined) return noted.tellAt;
  const coolEnd = known?.alertedAt === undefined ? undefined : known.alertedAt + limits.coolDownMs;
  const ends = [coolEnd, floodEndsAt(facts, at, limits)].filter(
    (end): end is Instant => end !== undefined && end > at,
  );
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** When single messages are allowed again; undefined = they are. */
function floodEndsAt(
  { toldLately }: IncidentFacts,
  at: Instant,
  { perHour }: AlertLimits,
): Instant | undefined {
  return toldLately.count < perHour ? undefined : (toldLately.firstAt ?? at) + FLOOD_MS;
}
