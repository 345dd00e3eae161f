// Ending runs: outcome, outbox rows, streak, strikes and next attempt in one transaction (law 5).
//
// I1. Cursors are locked before runs, by job id; `settle` sees the streak that this transaction will replace.
// I2. An old token, or a terminal row, changes nothing at all: not the streak, not the outbox (law 3).

import type { Streak } from "../../records/definition.ts";
import type { NewDelivery } from "../../records/delivery.ts";
import type { Incident, IncidentFacts } from "../../records/incident.ts";
import type { CloseAnswer, Closing, Settlement } from "../../records/ledger/claims.ts";
import type { Run } from "../../records/run.ts";
import { columnList, decodeRun, RUN } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import { isLive } from "./endings.ts";
import { readIncidentFacts, writeIncidents } from "./incidents.ts";
import { type Closed, insertNextAttempts } from "./next-attempts.ts";
import { insertDeliveries } from "./outbox-rows.ts";
import { leaseClock, type Store, type Transaction, write } from "./store.ts";
import { openSuspension } from "./suspensions.ts";

const CLOSING: Columns = {
  runId: "text",
  owner: "text",
  token: "int",
  state: "text",
  reason: "text",
  outcome: "json",
  usage: "json",
  outputFile: "text",
  finishedAt: "int",
  lastActivityAt: "int",
};

/** What a job's cursor knows of its failures, while closings change it. */
interface JobRecord {
  jobId: string;
  streak: Streak;
  strikes: number;
  isChanged: boolean;
}

export async function closeRuns(store: Store, closings: readonly Closing[]): Promise<readonly CloseAnswer[]> {
  if (closings.length === 0) return [];
  // The same claim twice in one batch: the first closing counts.
  const firsts = new Map<string, Closing>();
  for (const closing of closings) {
    const key = `${closing.claim.token}/${closing.claim.runId}`;
    if (!firsts.has(key)) firsts.set(key, closing);
  }
  const candidates = [...firsts.values()];
  return write(store, async (tx) => {
    const json = tx.dialect.encodeRows(
      CLOSING,
      candidates.map((closing) => ({ ...closing, ...closing.claim })),
    );
    const jobs = candidates.some(touchesJob)
      ? await lockJobs(tx, candidates, json)
      : new Map<string, JobRecord>();
    const closed = await closeRows(tx, candidates, json);
    await settleAll(tx, closed, jobs);
    await insertNextAttempts(tx, closed);
    await endProcesses(tx, closed);
    for (const entry of closed) emitEnd(tx, entry);
    const answered = new Set(closed.map(({ closing }) => closing));
    return closings.map((closing) => (answered.has(closing) ? "closed" : "lost"));
  });
}

function touchesJob({ settle, strike }: Closing): boolean {
  return settle !== undefined || strike !== undefined;
}

const JOB_ID: Columns = { jobId: "text" };

async function lockJobs(
  tx: Transaction,
  candidates: readonly Closing[],
  json: string,
): Promise<Map<string, JobRecord>> {
  const known = candidates.every((closing) => closing.known)
    ? [...new Set(candidates.flatMap((closing) => closing.known?.jobId ?? []))]
    : undefined;
  const jobIds = known
    ? `SELECT x."jobId" FROM ${tx.dialect.rows("x", JOB_ID)}`
    : `SELECT r."jobId" FROM ${tx.dialect.rows("x", CLOSING)} JOIN "runs" AS r ON r."id" = x."runId"`;
  const rows = await tx.all(
    `SELECT c."jobId", c."failures", c."cause", c."isAlerted", c."strikes" FROM "cursors" AS c
     WHERE c."jobId" IN (${jobIds}) ORDER BY c."jobId"${tx.dialect.forUpdate("c")}`,
    [
      known
        ? tx.dialect.encodeRows(
            JOB_ID,
            known.map((jobId) => ({ jobId })),
          )
        : json,
    ],
  );
  return new Map(
    rows.map((row) => {
      const jobId = String(row.jobId);
      const cause = row.cause === null ? undefined : String(row.cause);
      const streak = { failures: Number(row.failures), cause, isAlerted: row.isAlerted === 1 };
      return [jobId, { jobId, streak, strikes: Number(row.strikes), isChanged: false }];
    }),
  );
}

/** The whole row comes back only when somebody needs it: reading it costs more than writing it. */
async function closeRows(tx: Transaction, candidates: readonly Closing[], json: string): Promise<Closed[]> {
  const needsRow = candidates.some(({ settle, next, known }) => !known && (settle || next));
  const isKnown = candidates.every(({ known }) => known);
  const returned = needsRow ? columnList(RUN, `"runs"`) : `"runs"."id"${isKnown ? "" : `, "runs"."jobId"`}`;
  const rows = await tx.all(
    `UPDATE "runs" SET "state" = x."state", "reason" = COALESCE(x."reason", "runs"."reason"), "outcome" = x."outcome", "usage" = x."usage",
       "outputFile" = x."outputFile", "finishedAt" = x."finishedAt", "lastActivityAt" = COALESCE(x."lastActivityAt", "runs"."lastActivityAt")
     FROM ${tx.dialect.rows("x", CLOSING)}
     WHERE "runs"."id" = x."runId" AND "runs"."token" = x."token" AND "runs"."owner" = x."owner" AND ${isLive(`"runs"`)}
     RETURNING ${returned}`,
    [json],
  );
  const closed = new Map(rows.map((row) => [String(row.id), row]));
  return candidates.flatMap((closing) => {
    const row = closed.get(closing.claim.runId);
    return row ? [{ closing, run: closing.known ? asClosed(closing, closing.known) : decodeRun(row) }] : [];
  });
}

/** The row that the statement has just written, without reading it. */
function asClosed(closing: Closing, known: Run): Run {
  const { state, reason = known.reason, outcome, usage, outputFile, finishedAt } = closing;
  const { lastActivityAt = known.lastActivityAt } = closing;
  return { ...known, state, reason, outcome, usage, outputFile, finishedAt, lastActivityAt };
}

/** For work that is no job's: nobody counts its failures. */
const NO_STREAK: Streak = { failures: 0, cause: undefined, isAlerted: false };

async function settleAll(
  tx: Transaction,
  closed: readonly Closed[],
  jobs: ReadonlyMap<string, JobRecord>,
): Promise<void> {
  const newest = Math.max(0, ...closed.map(({ closing }) => closing.finishedAt));
  const news = await readNews(tx, closed, { jobs, now: newest });
  const deliveries: NewDelivery[] = [];
  for (const { closing, run } of closed) {
    const job = run.jobId === undefined ? undefined : jobs.get(run.jobId);
    const settlement = closing.settle?.(job?.streak ?? NO_STREAK, run, news.factsOf(run.jobId));
    if (settlement) deliveries.push(...settlement.deliveries);
    if (!job) continue;
    if (settlement) job.streak = settlement.streak;
    news.note(job.jobId, settlement?.incidents ?? []);
    if (settlement?.pause) await pauseJob(tx, job.jobId, settlement.pause);
    if (closing.strike === "strike") job.strikes += 1;
    if (closing.strike === "clear") job.strikes = 0;
    job.isChanged ||= touchesJob(closing);
  }
  await writeJobs(
    tx,
    [...jobs.values()].filter(({ isChanged }) => isChanged),
  );
  await writeIncidents(tx, news.changed);
  await insertDeliveries(tx, deliveries, newest);
}

/** What is known of incidents while closings change it. */
interface News {
  factsOf(jobId: string | undefined): IncidentFacts | undefined;
  note(jobId: string, changed: readonly Incident[]): void;
  readonly changed: Incident[];
}

/** Reads incidents of jobs that fail or failed before: a success after a success pays nothing. */
async function readNews(
  tx: Transaction,
  closed: readonly Closed[],
  { jobs, now }: { jobs: ReadonlyMap<string, JobRecord>; now: number },
): Promise<News> {
  const changed: Incident[] = [];
  const touched = closed.flatMap(({ closing: { state, settle }, run: { jobId } }) => {
    const job = jobId === undefined ? undefined : jobs.get(jobId);
    const isNews = job && settle && (state !== "succeeded" || job.streak.failures > 0);
    return isNews ? [job.jobId] : [];
  });
  if (touched.length === 0) return { factsOf: () => undefined, note: () => {}, changed };
  const { ofJob, toldLately } = await readIncidentFacts(tx, [...new Set(touched)], now);
  return {
    changed,
    factsOf(jobId) {
      const incidents = jobId === undefined ? undefined : ofJob.get(jobId);
      return incidents && { incidents, toldLately: { ...toldLately } };
    },
    note(jobId, incidents) {
      const known = new Map((ofJob.get(jobId) ?? []).map((one) => [one.id, one]));
      const isTold = incidents.some(({ id, toldAt }) => toldAt !== known.get(id)?.toldAt);
      if (isTold) toldLately.count += 1;
      toldLately.firstAt ??= isTold ? now : undefined;
      for (const one of incidents) known.set(one.id, one);
      ofJob.set(jobId, [...known.values()]);
      changed.push(...incidents);
    },
  };
}

/** From now on no slot of it is due; the next pass accounts for what was due before (D4). */
async function pauseJob(
  tx: Transaction,
  jobId: string,
  { reason }: NonNullable<Settlement["pause"]>,
): Promise<void> {
  const { wall: now } = await leaseClock(tx.store, tx);
  const by = "autoPause";
  if (!(await openSuspension(tx, { jobId, kind: "paused", by, reason, now }))) return;
  const data = { change: "suspend", suspension: "paused", by, reason };
  tx.emit({ runId: undefined, jobId, at: now, kind: "job-changed", data });
}

const JOB: Columns = { jobId: "text", failures: "int", cause: "text", isAlerted: "bool", strikes: "int" };

async function writeJobs(tx: Transaction, jobs: readonly JobRecord[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx.run(
    `UPDATE "cursors" SET "failures" = x."failures", "cause" = x."cause", "isAlerted" = x."isAlerted", "strikes" = x."strikes"
     FROM ${tx.dialect.rows("x", JOB)} WHERE "cursors"."jobId" = x."jobId"`,
    [
      tx.dialect.encodeRows(
        JOB,
        jobs.map(({ jobId, streak, strikes }) => ({ jobId, strikes, ...streak })),
      ),
    ],
  );
}

const ENDED: Columns = { processId: "text", endedAt: "int", exitCode: "int" };

async function endProcesses(tx: Transaction, closed: readonly Closed[]): Promise<void> {
  const ended = closed.flatMap(({ closing }) =>
    (closing.endedProcesses ?? []).map(({ id, exitCode }) => ({
      processId: id,
      exitCode,
      endedAt: closing.finishedAt,
    })),
  );
  if (ended.length === 0) return;
  await tx.run(
    `UPDATE "processes" SET "endedAt" = x."endedAt", "exitCode" = x."exitCode" FROM ${tx.dialect.rows("x", ENDED)}
     WHERE "processes"."id" = x."processId" AND "processes"."endedAt" IS NULL`,
    [tx.dialect.encodeRows(ENDED, ended)],
  );
}

function emitEnd(tx: Transaction, { closing, run }: Closed): void {
  for (const event of closing.events ?? []) tx.emit(event);
  const { state, reason, finishedAt } = closing;
  const data = reason === undefined ? { state } : { state, reason };
  tx.emit({ runId: run.id, jobId: run.jobId, at: finishedAt, kind: "run-finished", data });
}
