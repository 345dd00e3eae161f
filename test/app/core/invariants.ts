// What must hold after every move (the rules of L), asked of the database itself.

import { expect } from "vitest";
import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import { auditJob, isAuditClean } from "../../../src/schedule/audit.ts";
import type { World } from "./world.ts";

interface Row {
  id: string;
  jobId: string;
  slot: number | null;
  slotTo: number | null;
  attempt: number;
  state: string;
  reason: string | null;
  owner: string | null;
  token: number;
  isExclusive: number;
  startedAt: number | null;
  trigger: string;
  effects: string;
}

const LIVE = ["claimed", "running", "cancelling"];
const OPEN = [...LIVE, "queued", "waiting"];

export interface Memory {
  /** Terminal rows as first seen, and the newest token of every row. */
  terminal: Map<string, string>;
  tokens: Map<string, number>;
  /** Newest `nextSlot` of each job and version. */
  cursors: Map<string, number>;
  /** The wall clock has gone back at some time in this history. */
  everSteppedBack: boolean;
  /** How many rewinds are on record, and the runs that had begun before a slot that lay ahead of one of them. */
  rewinds: number;
  early: Set<string>;
  /** The last move was a pass. */
  hasPassed: boolean;
}

export function makeMemory(): Memory {
  return {
    ...{ terminal: new Map(), tokens: new Map(), cursors: new Map() },
    ...{ everSteppedBack: false, rewinds: 0, early: new Set<string>(), hasPassed: false },
  };
}

export async function checkInvariants(world: World, memory: Memory): Promise<void> {
  const rows = (await world.sql(`SELECT * FROM "runs" ORDER BY "id"`)).map(rowOf);
  expectUniqueAccounting(rows);
  expectTerminalUnchanged(rows, memory);
  expectTokensGrow(rows, memory);
  expectOneExclusive(rows);
  for (const row of rows)
    if (LIVE.includes(row.state))
      expect(row.owner, `${row.id} is ${row.state} without an owner`).not.toBeNull();
  expectDeedsOnce(world, rows);
  await expectCompletedAtRest(world);
  await expectCursorsMonotone(world, memory);
  await expectEarlyNamed(world, memory);
}

/** T9: what is on record as completed has no slot to come; one that came would be nobody's. */
async function expectCompletedAtRest(world: World): Promise<void> {
  const going = await world.sql(
    `SELECT c."jobId" FROM "cursors" AS c JOIN "suspensions" AS s ON s."jobId" = c."jobId"
     WHERE s."kind" = 'completed' AND s."to" IS NULL AND c."removedAt" IS NULL AND c."nextSlot" IS NOT NULL`,
  );
  expect(going, "completed, and due again").toEqual([]);
}

/** A smaller step is none; a node that passes often writes so once a second. */
const NOTICED_MS = MINUTE + SECOND;

/**
 * T8: at the moment of a rewind exactly those slots are early that lie ahead and whose work has begun, by the deeds
 * themselves; and after a pass, whichever node's, nothing that began lies ahead without a name.
 */
async function expectEarlyNamed(world: World, memory: Memory): Promise<void> {
  const marked = new Set(
    (await world.sql(`SELECT "runId" FROM "resolutions" WHERE "as" = 'early'`)).map(idOf),
  );
  const rewinds = await world.sql(
    `SELECT "at" FROM "runEvents" WHERE "kind" = 'clock-stepped' AND "data" LIKE '%steppedBack%'`,
  );
  const changes = await world.sql(
    `SELECT "at" FROM "runEvents" WHERE "kind" = 'job-changed' AND "data" LIKE '%"rewind"%'`,
  );
  const hasRewound = rewinds.length + changes.length > memory.rewinds;
  memory.rewinds = rewinds.length + changes.length;
  const ahead = world.deeds.filter(
    ({ slot, attempt }) => attempt === 1 && slot !== undefined && slot > world.now(),
  );
  if (hasRewound) for (const { runId } of ahead) memory.early.add(runId);
  expect([...marked].sort(), "the runs marked early").toEqual([...memory.early].sort());
  if (!memory.hasPassed) return;
  const unnamed = ahead.filter(({ slot, runId }) => slot! > world.now() + NOTICED_MS && !marked.has(runId));
  expect(unnamed, "began early, and the pass did not notice").toEqual([]);
}

const idOf = ({ runId }: Record<string, unknown>) => String(runId);

function rowOf(row: Record<string, unknown>): Row {
  const number = (value: unknown) => (value === null ? null : Number(value));
  return {
    ...(row as unknown as Row),
    ...{ slot: number(row.slot), slotTo: number(row.slotTo), startedAt: number(row.startedAt) },
    ...{ attempt: Number(row.attempt), token: Number(row.token), isExclusive: Number(row.isExclusive) },
  };
}

/** L2: a slot is accounted for by its first attempt or by one range row, also after the clock was set back (T8). */
function expectUniqueAccounting(rows: readonly Row[]): void {
  const reached = new Map<string, Row>();
  const firsts = rows.filter(({ slot, attempt }) => slot !== null && attempt === 1);
  for (const row of firsts.sort((a, b) => a.slot! - b.slot!)) {
    const before = reached.get(row.jobId);
    const end = before && (before.slotTo ?? before.slot!);
    expect(
      end === undefined || row.slot! > end,
      `${row.jobId}: slot ${row.slot} is accounted for twice: ${JSON.stringify(firsts.filter(({ jobId }) => jobId === row.jobId))}`,
    ).toBe(true);
    reached.set(row.jobId, row);
  }
}

/** Law 3: a terminal row never changes. After a backward step one that never began may be voided whole (T8). */
function expectTerminalUnchanged(rows: readonly Row[], memory: Memory): void {
  const present = new Map(rows.map((row) => [row.id, row]));
  for (const [id, text] of memory.terminal) {
    const row = present.get(id);
    if (row) expect(JSON.stringify(row), "a terminal row changed").toBe(text);
    else {
      const was = JSON.parse(text) as Row;
      expect(memory.everSteppedBack, `${id} vanished without a step back`).toBe(true);
      expect(was.startedAt, `${id} had begun and vanished`).toBeNull();
      memory.terminal.delete(id);
    }
  }
  for (const row of rows) if (!OPEN.includes(row.state)) memory.terminal.set(row.id, JSON.stringify(row));
}

function expectTokensGrow(rows: readonly Row[], memory: Memory): void {
  for (const { id, token } of rows) {
    expect(token, `the token of ${id} went back`).toBeGreaterThanOrEqual(memory.tokens.get(id) ?? 0);
    memory.tokens.set(id, token);
  }
}

/** T7: beside a live run of an exclusive job nothing of it is live. */
function expectOneExclusive(rows: readonly Row[]): void {
  const live = rows.filter(({ state, isExclusive }) => LIVE.includes(state) && isExclusive === 1);
  const jobs = live.map(({ jobId }) => jobId);
  expect(new Set(jobs).size, "two exclusive runs of a job are live").toBe(jobs.length);
}

/** L3, L6: a run begins at most once; an attempt's key too; and what succeeded began. */
function expectDeedsOnce(world: World, rows: readonly Row[]): void {
  const ids = world.deeds.map(({ runId }) => runId);
  expect(new Set(ids).size, "a run began twice").toBe(ids.length);
  const present = new Map(rows.map((row) => [row.id, row]));
  const bySlot = new Map<string, number>();
  for (const { runId, jobId, slot } of world.deeds) {
    const row = present.get(runId);
    expect(row?.startedAt, `${runId} began and is not on record as started`).not.toBeNull();
    if (slot === undefined || row?.effects !== "external" || row.trigger !== "schedule") continue;
    const key = `${jobId} ${slot}`;
    bySlot.set(key, (bySlot.get(key) ?? 0) + 1);
    expect(bySlot.get(key), `external work of ${key} began twice`).toBe(1);
  }
  const begun = new Set(ids);
  for (const { id, state } of rows)
    if (state === "succeeded") expect(begun.has(id), `${id} succeeded without beginning`).toBe(true);
}

/** L2, T8: within a version the cursor only moves on, but after a backward step. */
async function expectCursorsMonotone(world: World, memory: Memory): Promise<void> {
  for (const row of await world.sql(`SELECT "jobId", "version", "nextSlot" FROM "cursors"`)) {
    if (row.nextSlot === null) continue;
    const key = `${row.jobId}@${row.version}`;
    const slot = Number(row.nextSlot);
    const before = memory.everSteppedBack ? undefined : memory.cursors.get(key);
    if (before !== undefined) expect(slot, `the cursor of ${key} went back`).toBeGreaterThanOrEqual(before);
    memory.cursors.set(key, slot);
  }
}

/** L9, at rest: nothing live, nothing missing, nothing twice; early is exactly what began before its slot. */
export async function expectAtRest(world: World, memory: Memory): Promise<void> {
  const { context } = world;
  const window = { since: 0, until: world.now() };
  const firsts = world.deeds.filter(({ attempt, slot }) => attempt === 1 && slot !== undefined);
  const early = firsts.filter(({ runId, slot, at }) => at < slot! || memory.early.has(runId));
  for (const { definition } of await context.ledger.jobs({ includeRemoved: true })) {
    const { jobId } = definition;
    const view = await context.ledger.auditView(jobId, window);
    const audit = auditJob(view!, window, context.parseJob);
    const { missing, doubled, pending, shifted, due, accounted } = audit;
    expect({ missing, doubled, shifted }, `audit of ${jobId}`).toEqual({
      ...{ missing: [], doubled: [], shifted: [] },
    });
    // T5: a slot whose jitter has not passed is the only one that may wait.
    const isWaiting = (view!.cursor.dueAt ?? 0) > world.now();
    expect(pending, `pending slots of ${jobId}`).toBeLessThanOrEqual(isWaiting ? 1 : 0);
    expect(accounted).toBe(due);
    const named = audit.early.flatMap(({ runIds }) => runIds);
    const begun = early.filter((deed) => deed.jobId === jobId).map(({ runId }) => runId);
    expect([...named].sort(), `early runs of ${jobId}`).toEqual(begun.sort());
    expect(isAuditClean(audit)).toBe(named.length === 0);
  }
}
