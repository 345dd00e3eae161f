import { describe, expect, test } from "vitest";
import { HOUR, type Instant } from "../../src/kernel/time.ts";
import type { Definition } from "../../src/records/definition.ts";
import type { AuditRow, AuditView } from "../../src/records/ledger/slots.ts";
import { type Audit, auditJob, isAuditClean, mergeAudits } from "../../src/schedule/audit.ts";
import { clock, cursorOf, definitionOf, instant, jobOf, START, suspensionOf } from "./views.ts";

function row(slot: string, parts: Partial<AuditRow> = {}): AuditRow {
  const at = instant(slot);
  return {
    ...{ runId: `run-${slot}`, slot: at, slotTo: undefined, slotCount: 1, isCountAtLeast: false },
    ...{ state: "succeeded", startedAt: at, ...parts },
  };
}

function range(from: string, to: string, slotCount: number, parts: Partial<AuditRow> = {}): AuditRow {
  return row(from, { slotTo: instant(to), slotCount, state: "missed", startedAt: undefined, ...parts });
}

/** An hourly job from midnight on; the cursor stands at 06:00 and the audit looks at 06:30. */
function audit(rows: readonly AuditRow[], parts: Partial<AuditView> = {}, since: Instant = START): Audit {
  const view: AuditView = {
    ...{
      jobId: "job",
      definitions: [definitionOf()],
      suspensions: [],
      cursor: cursorOf(instant("06:00")),
      rows,
    },
    ...{ summaries: [], early: [], ...parts },
  };
  const parse = ({ document }: Definition) => jobOf(document || "0 * * * *");
  return auditJob(view, { since, until: instant("06:30") }, parse);
}

const FIVE = ["01:00", "02:00", "03:00", "04:00", "05:00"].map((slot) => row(slot));
const slotsOf = (findings: Audit["missing"]) =>
  findings.map(({ first, count }) => `${clock(first)} ×${count}`);

describe("L9: audit", () => {
  test("every slot up to the cursor has its row; what is due beyond is pending", () => {
    const found = audit(FIVE);

    expect(found).toMatchObject({ due: 5, accounted: 5, pending: 1, missing: [], doubled: [], early: [] });
    expect(isAuditClean(found)).toBe(true);
  });

  test("openclaw#33092: a slot without a row is named", () => {
    const found = audit(FIVE.filter(({ runId }) => runId !== "run-03:00"));

    expect(slotsOf(found.missing)).toEqual(["03:00 ×1"]);
    expect(found).toMatchObject({ due: 5, accounted: 4 });
    expect(isAuditClean(found)).toBe(false);
  });

  test("hermes#59229: a slot with two rows is named, with both", () => {
    const found = audit([...FIVE, row("03:00", { runId: "again" })]);

    expect(found.doubled).toMatchObject([
      { first: instant("03:00"), count: 1, runIds: ["run-03:00", "again"] },
    ]);
  });

  test("a range row stands for its slots; one that counts too few leaves some missing; one that overlaps doubles", () => {
    const rest = [FIVE[0]!, FIVE[4]!];

    expect(audit([...rest, range("02:00", "04:00", 3)])).toMatchObject({ due: 5, accounted: 5, missing: [] });
    expect(slotsOf(audit([...rest, range("02:00", "04:00", 2)]).missing)).toEqual(["02:00 ×1"]);
    expect(audit([...rest, range("02:00", "04:00", 1, { isCountAtLeast: true })]).missing).toEqual([]);
    expect(slotsOf(audit([...FIVE, range("02:00", "04:00", 3)]).doubled)).toHaveLength(3);
  });

  test("a run that started before its slot is early; so is one that a clock step proved early", () => {
    const early = audit([row("01:00", { startedAt: instant("00:59:59.999") }), ...FIVE.slice(1)]);

    expect(early.early).toMatchObject([{ first: instant("01:00"), runIds: ["run-01:00"] }]);
    expect(audit(FIVE, { early: ["run-02:00"] }).early).toMatchObject([{ first: instant("02:00") }]);
  });

  test("D4: paused, quarantined and completed stretches have no due slots; held ones do", () => {
    const suspended = (kind: "paused" | "quarantined" | "completed" | "held") =>
      audit([FIVE[0]!, FIVE[4]!], {
        suspensions: [suspensionOf(kind, instant("01:30"), { to: instant("04:30") })],
      });

    for (const kind of ["paused", "quarantined", "completed"] as const)
      expect(suspended(kind)).toMatchObject({ due: 2, missing: [] });
    expect(slotsOf(suspended("held").missing)).toEqual(["02:00 ×1", "03:00 ×1", "04:00 ×1"]);
  });

  test("D4: a slot at the very instant of a pause belongs to the time before it, one at its end to the pause", () => {
    const pause = suspensionOf("paused", instant("02:00"), { to: instant("04:00") });

    expect(slotsOf(audit([FIVE[0]!, FIVE[4]!], { suspensions: [pause] }).missing)).toEqual(["02:00 ×1"]);
  });

  test("D4: a pause that ended by itself counts to its own end", () => {
    const pause = suspensionOf("paused", instant("01:30"), { until: instant("04:30"), to: instant("06:10") });

    expect(audit([FIVE[0]!, FIVE[4]!], { suspensions: [pause] })).toMatchObject({
      due: 2,
      accounted: 2,
      missing: [],
    });
  });

  test("D1: each version is judged by its own schedule, from when it was recorded", () => {
    const definitions = [
      definitionOf({ inForceTo: instant("03:10") }),
      definitionOf({ version: 2, inForceFrom: instant("03:10"), document: "30 * * * *" }),
    ];
    const rows = [...FIVE.slice(0, 3), row("03:30"), row("04:30"), row("05:30")];

    expect(audit(rows, { definitions })).toMatchObject({
      due: 6,
      accounted: 6,
      pending: 1,
      missing: [],
      doubled: [],
    });
  });

  test("L8: folded history accounts for what it counted, together with the rows that were kept", () => {
    const summaries = [{ from: instant("01:00"), to: instant("03:00"), counts: { succeeded: 1, missed: 1 } }];

    expect(audit(FIVE.slice(1), { summaries })).toMatchObject({ due: 5, accounted: 5, missing: [] });
    expect(slotsOf(audit(FIVE.slice(3), { summaries }).missing)).toEqual(["01:00 ×1"]);
  });

  test("the window cuts rows and slots alike", () => {
    expect(audit([range("01:00", "04:00", 4), FIVE[4]!], {}, instant("03:30"))).toMatchObject({
      due: 2,
      accounted: 2,
      missing: [],
    });
  });

  test("L9: a changed time-zone database is reported, not called missing", () => {
    const found = audit([...FIVE.slice(0, 4), row("04:30")], {});
    const far = audit([...FIVE.slice(0, 4), row("05:07")], {});

    expect(found).toMatchObject({
      missing: [],
      shifted: [{ slot: instant("05:00"), recordedAt: instant("04:30") }],
    });
    expect(slotsOf(far.missing)).toEqual(["05:00 ×1"]);
  });

  test("audits of several jobs add up", () => {
    const window = { since: START, until: START + HOUR };
    const merged = mergeAudits(window, [audit(FIVE), audit(FIVE.slice(1))]);

    expect(merged).toMatchObject({ ...window, due: 10, accounted: 9, pending: 2, doubled: [], early: [] });
    expect(merged.missing).toHaveLength(1);
  });

  test("T8: what began before its slot is named also where that slot is still to come", () => {
    const began = row("09:00", { runId: "ahead", startedAt: instant("06:00") });
    const marked = row("08:00", { runId: "marked", startedAt: instant("08:00") });
    const found = audit([...FIVE, marked, began], { early: ["marked"] });

    expect(slotsOf(found.early)).toEqual(["08:00 ×1", "09:00 ×1"]);
    expect(found).toMatchObject({ due: 5, accounted: 5, missing: [], doubled: [], shifted: [] });
  });

  test("T8: an early run of another schedule hides no missing slot", () => {
    const stray = row("03:15", { runId: "stray", startedAt: instant("01:10") });
    const found = audit([...FIVE.filter(({ runId }) => runId !== "run-03:00"), stray]);

    expect(slotsOf(found.missing)).toEqual(["03:00 ×1"]);
    expect(found.shifted).toEqual([]);
  });
});
