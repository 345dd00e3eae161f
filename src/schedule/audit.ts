// The proof (L9): recompute which slots were due from the definitions on record, and compare with what the ledger holds.
//
// I1. Nothing the decisions left behind is believed: due slots come from definitions and suspensions alone.
// I2. Boundaries: a state recorded at t covers slots after t; slots at or before t belong to the state before (D1, D4).

import type { Instant } from "../kernel/time.ts";
import type { AuditRow, AuditView } from "../records/ledger/slots.ts";
import type { ParseJob } from "./decide.ts";
import { dueSegments, type Segment, visitSlots } from "./due-segments.ts";
import { countSlots } from "./next-slot.ts";
import type { Stretch } from "./open-slots.ts";

export interface AuditWindow {
  since: Instant;
  until: Instant;
}

/** A slot or stretch of a job that does not add up. */
export interface AuditFinding extends Stretch {
  jobId: string;
  /** The rows concerned. */
  runIds: readonly string[];
}

export interface Audit extends AuditWindow {
  /** Slots that were due in the window and lie before their cursor. */
  due: number;
  accounted: number;
  /** Due by now, but the cursor has not passed them yet. */
  pending: number;
  /** Due, and no row says what became of them. */
  missing: readonly AuditFinding[];
  /** Accounted for more than once. */
  doubled: readonly AuditFinding[];
  /** Started before their slot, also where that is still to come. */
  early: readonly AuditFinding[];
  /** Recorded at another instant than today's time-zone database gives: reported, not called missing. */
  shifted: readonly { jobId: string; slot: Instant; recordedAt: Instant; runId: string }[];
  /** A stretch was too long to count exactly: `due` and `accounted` are lower bounds. */
  isAtLeast: boolean;
}

/** One job's audit over slots in [`since`, `until`]. `until` should not lie after the ledger's now. */
export function auditJob(view: AuditView, window: AuditWindow, parseJob: ParseJob): Audit {
  const segments = dueSegments(view, window, parseJob);
  const cursorAt = view.cursor.nextSlot ?? Number.POSITIVE_INFINITY;
  const passed = segments.flatMap((segment) => clipped(segment, { until: cursorAt - 1 }));
  const ahead = segments.flatMap((segment) => clipped(segment, { after: cursorAt - 1 }));
  const covers = coversOf(view);
  const compared = compare(view, { passed, covers, window });
  return {
    ...window,
    ...compared,
    pending: ahead.reduce((sum, segment) => sum + countSlots(segment.schedule, segment).count, 0),
    doubled: doubledOf(view, window),
    early: earlyOf(view),
  };
}

/** Sums of the audits of several jobs over one window. */
export function mergeAudits(window: AuditWindow, audits: readonly Audit[]): Audit {
  const sum = (pick: (audit: Audit) => number) => audits.reduce((total, audit) => total + pick(audit), 0);
  return {
    ...window,
    due: sum((audit) => audit.due),
    accounted: sum((audit) => audit.accounted),
    pending: sum((audit) => audit.pending),
    missing: audits.flatMap((audit) => audit.missing),
    doubled: audits.flatMap((audit) => audit.doubled),
    early: audits.flatMap((audit) => audit.early),
    shifted: audits.flatMap((audit) => audit.shifted),
    isAtLeast: audits.some((audit) => audit.isAtLeast),
  };
}

/** Whether the ledger adds up: nothing missing, doubled or early. */
export function isAuditClean(audit: Audit): boolean {
  return audit.missing.length + audit.doubled.length + audit.early.length === 0;
}

function clipped(segment: Segment, limits: { after?: Instant; until?: Instant }): Segment[] {
  const after = Math.max(segment.after, limits.after ?? segment.after);
  const until = Math.min(segment.until, limits.until ?? segment.until);
  return after < until ? [{ ...segment, after, until }] : [];
}

/** A stretch of time whose slots are accounted for by one row or summary. */
interface Cover {
  from: Instant;
  to: Instant;
  /** How many slots it says it stands for. */
  count: number;
  /** The same, of a row that stopped counting: it stands for all slots from first to last. */
  atLeast: number | undefined;
  runIds: readonly string[];
}

/** Range rows and folded history; single rows are looked up by their slot. */
function coversOf(view: AuditView): Cover[] {
  const ranges = view.rows
    .filter((row) => row.slotTo !== undefined && row.slotTo > row.slot)
    .map((row) => ({
      from: row.slot,
      to: row.slotTo ?? row.slot,
      count: row.slotCount,
      atLeast: row.isCountAtLeast ? row.slotCount : undefined,
      runIds: [row.runId],
    }));
  const folded = view.summaries.map(({ from, to, counts }) => {
    const kept = view.rows.filter((row) => row.slot >= from && (row.slotTo ?? row.slot) <= to);
    const count = Object.values(counts).reduce((sum, each) => sum + each, 0);
    return {
      from,
      to,
      count: count + kept.reduce((sum, row) => sum + row.slotCount, 0),
      atLeast: undefined,
      runIds: [],
    };
  });
  return [...ranges, ...folded];
}

interface Comparison {
  passed: readonly Segment[];
  covers: readonly Cover[];
  window: AuditWindow;
}

type Compared = Pick<Audit, "due" | "accounted" | "missing" | "shifted" | "isAtLeast">;

function compare(view: AuditView, { passed, covers, window }: Comparison): Compared {
  const singles = new Map(view.rows.filter((row) => !isRange(row)).map((row) => [row.slot, row]));
  const missingSlots: Instant[] = [];
  const inCover = new Map<Cover, number>();
  const coverAt = makeCoverAt(covers);
  let due = 0;
  const isCut = visitSlots(passed, (slot) => {
    const cover = coverAt(slot);
    if (cover?.atLeast !== undefined) {
      // Nobody counted these when they passed; nobody does now.
      due += cover.atLeast;
      return cover.to;
    }
    due += 1;
    if (cover) inCover.set(cover, (inCover.get(cover) ?? 0) + 1);
    else if (!singles.delete(slot)) missingSlots.push(slot);
    return slot;
  });
  const shortfalls = isCut ? [] : shortCovers(inCover, window);
  // A run that began early may belong to a version that its slot never saw: no sign of other rules.
  const early = new Set(earlyRows(view));
  const strays = [...singles.values()].filter((row) => !early.has(row));
  const { missing, shifted } = paired(view.jobId, missingSlots, strays);
  const lost = [...missing, ...shortfalls.map((finding) => ({ ...finding, jobId: view.jobId }))];
  const lostCount = lost.reduce((sum, finding) => sum + finding.count, 0);
  const isAtLeast = isCut || covers.some(({ atLeast }) => atLeast !== undefined);
  return { due, accounted: due - lostCount, missing: lost, shifted, isAtLeast };
}

/** Looks up the cover of ascending slots, in passing. */
function makeCoverAt(covers: readonly Cover[]): (slot: Instant) => Cover | undefined {
  const sorted = [...covers].sort((a, b) => a.from - b.from);
  let index = 0;
  return (slot) => {
    for (let cover = sorted[index]; cover && cover.to < slot; cover = sorted[index]) index += 1;
    const cover = sorted[index];
    return cover && cover.from <= slot ? cover : undefined;
  };
}

/** Covers that stand for fewer slots than were due in them. One that reaches out of the window cannot be judged. */
function shortCovers(
  inCover: ReadonlyMap<Cover, number>,
  window: AuditWindow,
): Omit<AuditFinding, "jobId">[] {
  const findings: Omit<AuditFinding, "jobId">[] = [];
  for (const [{ from, to, count, runIds }, due] of inCover) {
    if (from < window.since || to > window.until || count >= due) continue;
    findings.push({ first: from, last: to, count: due - count, isCountAtLeast: false, runIds });
  }
  return findings;
}

function isRange(row: AuditRow): boolean {
  return row.slotTo !== undefined && row.slotTo > row.slot;
}

/** No zone has moved its clock by more than this in one revision, the date line apart. */
const LARGEST_SHIFT_MS = 3 * 3_600_000;

/** A slot without a row beside a row without a slot: the zone's rules changed after it ran. */
function paired(
  jobId: string,
  slots: readonly Instant[],
  strays: readonly AuditRow[],
): { missing: AuditFinding[]; shifted: Audit["shifted"] } {
  const free = [...strays];
  const missing: AuditFinding[] = [];
  const shifted: { jobId: string; slot: Instant; recordedAt: Instant; runId: string }[] = [];
  for (const slot of slots) {
    const index = free.findIndex(
      (row) => Math.abs(row.slot - slot) <= LARGEST_SHIFT_MS && isOtherOffset(row, slot),
    );
    const [row] = index < 0 ? [] : free.splice(index, 1);
    if (row) shifted.push({ jobId, slot, recordedAt: row.slot, runId: row.runId });
    else missing.push({ jobId, first: slot, last: slot, count: 1, isCountAtLeast: false, runIds: [] });
  }
  return { missing, shifted };
}

/** Zones differ by whole quarters of an hour; anything else is no change of rules. */
function isOtherOffset(row: AuditRow, slot: Instant): boolean {
  return (row.slot - slot) % 900_000 === 0;
}

function doubledOf(view: AuditView, window: AuditWindow): AuditFinding[] {
  const findings: AuditFinding[] = [];
  const rows = [...view.rows].sort((a, b) => a.slot - b.slot);
  let reaching: AuditRow | undefined;
  for (const row of rows) {
    const end = row.slotTo ?? row.slot;
    const reachedTo = reaching ? (reaching.slotTo ?? reaching.slot) : Number.NEGATIVE_INFINITY;
    if (reaching && row.slot <= reachedTo && row.slot >= window.since && row.slot <= window.until) {
      const last = Math.min(end, reachedTo);
      const count = Math.min(row.slotCount, reaching.slotCount);
      findings.push({
        ...{ jobId: view.jobId, first: row.slot, last, count },
        ...{ isCountAtLeast: last > row.slot, runIds: [reaching.runId, row.runId] },
      });
    }
    if (end >= reachedTo) reaching = row;
  }
  return findings;
}

function earlyOf(view: AuditView): AuditFinding[] {
  return earlyRows(view).map(({ slot, runId }) => ({
    ...{ jobId: view.jobId, first: slot, last: slot, count: 1, isCountAtLeast: false },
    runIds: [runId],
  }));
}

function earlyRows(view: AuditView): AuditRow[] {
  const marked = new Set(view.early);
  return view.rows.filter(
    (row) => (row.startedAt !== undefined && row.startedAt < row.slot) || marked.has(row.runId),
  );
}
