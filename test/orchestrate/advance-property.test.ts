// Random graphs with random outcomes, crashes and cancels: what holds for all of them.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { advance } from "../../src/orchestrate/graph/advance.ts";
import { foldJournal } from "../../src/orchestrate/graph/apply-entry.ts";
import { hasEnded } from "../../src/orchestrate/graph/progress.ts";
import { formatWorkflowDocument } from "../../src/records/workflow-document.ts";
import { expectEdgesKept, expectOncePerAttempt } from "./journal-rules.ts";
import { answerOf, graphs, yamlOf } from "./random-graphs.ts";
import { ok, planOf, START, TestRun } from "./runs.ts";

const ends = (run: TestRun) => ({ ended: run.progress.ended, standings: run.standings() });

describe("W1: for every graph and every outcome", () => {
  test("each task ends in one state, none starts before its edges allow, and finally runs last", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const run = new TestRun(planOf(yamlOf(graph)), answerOf(graph)).toEnd();

        expect(run.progress.ended).toBeDefined();
        for (const id of run.plan.tasks.keys()) expect(hasEnded(run.progress.units.get(id))).toBe(true);
        expect(run.started().at(-1)).toBe("last");
        expectEdgesKept(graph, run.journal);
        expectOncePerAttempt(run.journal);
      }),
      { numRuns: 60 },
    );
  });

  test("after its decisions nothing more is decided, and the same input gives the same answer", () => {
    fc.assert(
      fc.property(graphs, fc.nat(), (graph, cut) => {
        const run = new TestRun(planOf(yamlOf(graph)), answerOf(graph)).toEnd();
        const journal = run.journal.slice(0, cut % (run.journal.length + 1));
        const now = journal.at(-1)?.at ?? 0;
        const first = advance(run.plan, foldJournal(START, journal), now);

        expect(advance(run.plan, foldJournal(START, journal), now)).toEqual(first);
        expect(advance(run.plan, foldJournal(START, [...journal, ...first]), now)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test("a run that goes on from any prefix of its journal ends in the same way", () => {
    fc.assert(
      fc.property(graphs, fc.nat(), (graph, cut) => {
        const plan = planOf(yamlOf(graph));
        const whole = new TestRun(plan, answerOf(graph)).toEnd();
        const prefix = whole.journal.slice(0, cut % (whole.journal.length + 1));
        const resumed = new TestRun(plan, answerOf(graph), prefix).toEnd();

        expect(ends(resumed)).toEqual(ends(whole));
      }),
      { numRuns: 60 },
    );
  });

  test("L6: whoever dies at whatever point, external work is never begun twice by itself", () => {
    fc.assert(
      fc.property(graphs, fc.nat(), (graph, cut) => {
        const plan = planOf(yamlOf(graph));
        const whole = new TestRun(plan, answerOf(graph)).toEnd();
        const prefix = whole.journal.slice(0, cut % (whole.journal.length + 1));
        const crashed = new TestRun(plan, answerOf(graph), prefix);
        const lost = [...crashed.progress.units].filter(([, unit]) => unit.standing === "running");
        for (const [unit, state] of lost) crashed.send({ kind: "lost", unit, attempt: state.attempt });
        crashed.toEnd();

        for (const [unit] of lost) {
          const task = plan.tasks.get(unit.replace(/\[\d+\]$/, ""))?.task;
          const before = prefix.filter((entry) => entry.kind === "started" && entry.unit === unit).length;
          if (task?.effects === "external")
            expect(crashed.started().filter((id) => id === unit)).toHaveLength(before);
        }
        const open = [...crashed.progress.units.values()].filter(
          (unit) => unit.reason === "effect" && unit.standing === "waiting",
        );
        expect(crashed.progress.ended === undefined).toBe(open.length > 0);
        for (const [unit, state] of crashed.progress.units)
          if (state.standing === "waiting") crashed.send({ kind: "resolved", unit, as: "failed", by: "ann" });
        expect(crashed.toEnd().progress.ended).toBeDefined();
      }),
      { numRuns: 50 },
    );
  });

  test("a cancel at any point ends the run as cancelled, with finally run", () => {
    fc.assert(
      fc.property(graphs, fc.nat(), (graph, cut) => {
        const plan = planOf(yamlOf(graph));
        const whole = new TestRun(plan, answerOf(graph)).toEnd();
        const before = whole.journal.findIndex((entry) => "unit" in entry && entry.unit === "last");
        const run = new TestRun(plan, answerOf(graph), whole.journal.slice(0, cut % Math.max(1, before)));
        run.send({ kind: "cancelRequested", by: "ann" }).toEnd();

        expect(run.progress.ended?.state).toBe("cancelled");
        expect(run.started().at(-1)).toBe("last");
      }),
      { numRuns: 50 },
    );
  });

  test("a chain of a thousand tasks is advanced within a few seconds, whatever the order it is written in", () => {
    const size = 1_000;
    const tasks = Array.from({ length: size }, (_, index) => ({
      id: `t${size - 1 - index}`,
      shell: "x",
      ...(index === size - 1 ? {} : { dependsOn: [`t${size - 2 - index}`] }),
    }));
    const run = new TestRun(planOf(formatWorkflowDocument({ name: "chain", tasks })), (unit) =>
      unit === "t0" ? { state: "cancelled" } : ok(),
    ).toEnd();

    expect(run.started()).toEqual(["t0"]);
    expect(run.standings().t999).toBe("skipped: upstreamSkipped");
  });
});
