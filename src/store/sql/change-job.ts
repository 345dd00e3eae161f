// One change of one job, with the settlement of what was due before it, in one transaction (D1, D3, D4).
//
// I1. The cursor's row is locked first; the version is compared under that lock (D3, D5).
// I2. What was due is accounted for under the old state before anything changes.
// I3. The states of a job follow each other: none is recorded before the one that it replaces (T8).
// I4. While `completed` is on record there is no next slot: slots that came all the same would be due by nobody's book.

import { invariant } from "../../kernel/errors.ts";
import type { Instant } from "../../kernel/time.ts";
import type { ChangeRequest, ChangeResult, JobChange, JobView } from "../../records/ledger/slots.ts";
import { applyDecisions, decideAll, writeAhead } from "./apply-decisions.ts";
import { endOpenRuns } from "./endings.ts";
import { resolveOfRemovedJob } from "./incidents.ts";
import { newest, noteChange } from "./record-clock.ts";
import { type Store, type Transaction, write } from "./store.ts";
import { closeSuspension, openSuspension, refreshHalted } from "./suspensions.ts";
import { readView } from "./views.ts";

export async function changeJob(store: Store, request: ChangeRequest): Promise<ChangeResult> {
  const result = await write(store, (tx) => change(tx, request));
  if (result.kind === "changed") await store.wake();
  return result;
}

async function change(tx: Transaction, asked: ChangeRequest): Promise<ChangeResult> {
  const { jobId, change, expectVersion } = asked;
  const known = await readView(tx, jobId, tx.dialect.forUpdate("c"));
  const inForce = known?.cursor.removedAt === undefined ? known : undefined;
  const isExpected = expectVersion === undefined || expectVersion === (inForce?.cursor.version ?? 0);
  if (!isExpected || (!inForce && change.kind !== "define"))
    return { kind: "conflict", actual: inForce?.definition };
  const request = { ...asked, now: await notBefore(tx, jobId, asked.now) };
  if (inForce && isNoChange(inForce, change)) return { kind: "unchanged", view: inForce };
  if (inForce) await applyDecisions(tx, decideAll([inForce], request.settle, request.now), request);
  await applyChange(tx, request, known);
  if (change.kind === "define" && !change.suspended) await reopen(tx, request);
  await placeCursor(tx, request);
  emitChange(tx, request, await currentView(tx, jobId));
  await noteChange(tx, request.now);
  return { kind: "changed", view: await currentView(tx, jobId), previous: inForce?.definition };
}

/**
 * (I3) `now`, or the instant of the job's latest change where that lies ahead: a clock that was set back by so little that
 * nobody rewinds must not let two states overlap.
 */
async function notBefore(tx: Transaction, jobId: string, now: Instant): Promise<Instant> {
  const row = await tx.get(
    `SELECT (SELECT max("inForceFrom") FROM "definitions" WHERE "jobId" = ?) AS "defined", (SELECT max("inForceTo") FROM "definitions" WHERE "jobId" = ?) AS "ended",
       (SELECT max("from") FROM "suspensions" WHERE "jobId" = ?) AS "suspended", (SELECT max("to") FROM "suspensions" WHERE "jobId" = ?) AS "resumed"`,
    [jobId, jobId, jobId, jobId],
  );
  return Math.max(now, newest(...Object.values(row ?? {})) ?? now);
}

function isNoChange(view: JobView, change: JobChange): boolean {
  const { definition, cursor } = view;
  switch (change.kind) {
    case "define":
      return (
        change.digest === definition.digest &&
        change.document === definition.document &&
        change.zone === definition.zone &&
        change.anchor === definition.anchor &&
        change.source === definition.source
      );
    case "suspend":
      return cursor.suspensions.some(
        (open) =>
          open.kind === change.suspension && open.reason === change.reason && open.until === change.until,
      );
    case "resume":
      return !cursor.suspensions.some((open) => open.kind === change.suspension);
    case "move":
      return change.source === definition.source;
    case "remove":
      return false;
  }
}

async function applyChange(
  tx: Transaction,
  { jobId, now, change }: ChangeRequest,
  known: JobView | undefined,
): Promise<void> {
  switch (change.kind) {
    case "define":
      return define(tx, { jobId, now, change, version: (known?.cursor.version ?? 0) + 1 });
    case "suspend": {
      const { suspension: kind, by, reason, until } = change;
      await closeSuspension(tx, { jobId, kind, now });
      await openSuspension(tx, { jobId, kind, by, reason, until, now });
      return;
    }
    case "resume":
      await closeSuspension(tx, { jobId, kind: change.suspension, now });
      // A person who releases a job forgives its strikes (L7).
      if (change.suspension === "quarantined")
        await tx.run(`UPDATE "cursors" SET "strikes" = 0 WHERE "jobId" = ?`, [jobId]);
      return;
    case "remove":
      return remove(tx, { jobId, now, by: change.by });
    case "move":
      await tx.run(
        `UPDATE "definitions" SET "source" = ? WHERE "jobId" = ? AND "version" = (SELECT "version" FROM "cursors" WHERE "jobId" = ?)`,
        [change.source, jobId, jobId],
      );
  }
}

interface Define {
  jobId: string;
  now: Instant;
  change: Extract<JobChange, { kind: "define" }>;
  version: number;
}

async function define(tx: Transaction, { jobId, now, change, version }: Define): Promise<void> {
  const { digest, document, zone, anchor, source, by } = change;
  await endDefinition(tx, { jobId, now, by });
  await tx.run(
    `INSERT INTO "definitions" ("jobId", "version", "digest", "document", "zone", "anchor", "source", "inForceFrom") VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [jobId, version, digest, document, zone, anchor, source, now],
  );
  const isEnabled = isEnabledIn(document) ? 1 : 0;
  if (version === 1) {
    await tx.run(`INSERT INTO "cursors" ("jobId", "version", "revision", "isEnabled") VALUES (?, 1, 0, ?)`, [
      jobId,
      isEnabled,
    ]);
  } else {
    await tx.run(
      `UPDATE "cursors" SET "version" = ?, "isEnabled" = ?, "removedAt" = NULL, "revision" = "revision" + 1 WHERE "jobId" = ?`,
      [version, isEnabled, jobId],
    );
  }
  if (change.suspended) {
    const { suspension: kind, reason, until } = change.suspended;
    await openSuspension(tx, { jobId, kind, by, reason, until, now });
  }
  await refreshHalted(tx, jobId);
}

/** Absent = enabled. The document is JSON by contract of the port. */
function isEnabledIn(document: string): boolean {
  return (JSON.parse(document) as { enabled?: unknown } | null)?.enabled !== false;
}

async function endDefinition(
  tx: Transaction,
  { jobId, now, by }: { jobId: string; now: Instant; by: string },
): Promise<void> {
  await tx.run(
    `UPDATE "definitions" SET "inForceTo" = ?, "endedBy" = ? WHERE "jobId" = ? AND "inForceTo" IS NULL`,
    [now, by, jobId],
  );
}

/** A live run goes on; whatever only waits for its turn ends (D3). The slot stays, so that a re-added job continues (T3). */
async function remove(tx: Transaction, ended: { jobId: string; now: Instant; by: string }): Promise<void> {
  const { jobId, now } = ended;
  await endDefinition(tx, ended);
  const waiting = (await currentView(tx, jobId)).openRuns.filter(
    ({ state, startedAt }) => (state === "queued" && startedAt === undefined) || state === "waiting",
  );
  await endOpenRuns(
    tx,
    waiting.map(({ id }) => ({ runId: id, state: "cancelled", reason: "removed" })),
    now,
  );
  await tx.run(
    `UPDATE "cursors" SET "removedAt" = ?, "dueAt" = NULL, "revision" = "revision" + 1 WHERE "jobId" = ?`,
    [now, jobId],
  );
  await resolveOfRemovedJob(tx, jobId, now);
}

/** T9: a version under which slots can come again ends the completion, whether or not the job may have them yet. */
async function reopen(tx: Transaction, { jobId, now, isComplete }: ChangeRequest): Promise<void> {
  if (isComplete(await currentView(tx, jobId), now)) return;
  await closeSuspension(tx, { jobId, kind: "completed", now });
}

async function placeCursor(tx: Transaction, { jobId, now, change, next }: ChangeRequest): Promise<void> {
  if (change.kind === "remove" || change.kind === "move") return;
  const view = await currentView(tx, jobId);
  const place = next(view, now);
  invariant(!place || !isCompleted(view), "a completed job has no next slot (I4)");
  await tx.run(
    `UPDATE "cursors" SET "nextSlot" = ?, "dueAt" = ?, "revision" = "revision" + 1 WHERE "jobId" = ?`,
    [place?.slot ?? null, place?.dueAt ?? null, jobId],
  );
  if (view.accountedAhead)
    await writeAhead(
      tx,
      jobId,
      view.accountedAhead.filter((slot) => !place || slot >= place.slot),
    );
}

function isCompleted({ cursor }: JobView): boolean {
  return cursor.suspensions.some(({ kind }) => kind === "completed");
}

async function currentView(tx: Transaction, jobId: string): Promise<JobView> {
  const view = await readView(tx, jobId);
  invariant(view, "a job that was just changed can be read");
  return view;
}

function emitChange(tx: Transaction, { jobId, now, change }: ChangeRequest, view: JobView): void {
  const data: Record<string, unknown> = { change: change.kind, version: view.definition.version };
  if ("by" in change) data.by = change.by;
  if ("suspension" in change) data.suspension = change.suspension;
  if ("reason" in change) data.reason = change.reason;
  tx.emit({ runId: undefined, jobId, at: now, kind: "job-changed", data });
}
