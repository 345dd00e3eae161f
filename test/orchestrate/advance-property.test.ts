// Random graphs with random outcomes, crashes and cancels: what holds for all of them.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { advance } from "../../src/orchestrate/graph/advance.ts";
import { foldJournal } from "../../src/orchestrate/graph/apply-entry.ts";
import { hasEnded, type JournalEntry } from "../../src/orchestrate/graph/progress.ts";
import type { TaskDocument } from "../../src/records/workflow.ts";
import { formatWorkflowDocument } from "../../src/records/workflow-document.ts";
import { type Answer, bad, ok, planOf, START, TestRun } from "./runs.ts";

interface Graph {
  tasks: TaskDocument[];
  seed: number;
}

const idOf = (index: number) => `t${index}`;

/** Edges lead from lower to higher numbers, so there is no cycle; the last task is `finally`. */
const graphs: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 9 }).chain((size) =>
  fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    tasks: fc.tuple(...Array.from({ length: size }, (_, index) => taskArbitrary(index, size))),
  }),
);

function taskArbitrary(index: number, size: number): fc.Arbitrary<TaskDocument> {
  const some = (ids: string[]) => fc.subarray(ids, { maxLength: Math.min(2, ids.length) });
  const below = some(Array.from({ length: index }, (_, at) => idOf(at)));
  const above = some(Array.from({ length: size - index - 1 }, (_, at) => idOf(index + 1 + at)));
  return fc
    .record({
      dependsOn: below,
      onSuccess: above,
      onFailure: above,
      onComplete: fc.tuple(fc.nat(3), above).map(([dice, ids]) => (dice === 0 ? ids : [])),
      join: fc.constantFrom("any" as const, "all" as const),
      effects: fc.constantFrom("none" as const, "idempotent" as const, "external" as const),
      retry: fc.record({ max: fc.integer({ min: 0, max: 2 }), delay: fc.constant("1s") }),
      fallback: fc.subarray(["spare"]),
      foreach: fc.option(
        fc.record({
          items: fc.constant<unknown[]>([1, 2, 3]),
          max: fc.integer({ min: 1, max: 3 }),
          failFast: fc.boolean(),
        }),
        { nil: undefined, freq: 4 },
      ),
      when: fc.constantFrom(undefined, undefined, undefined, "params.line == 'A'", "params.line == 'B'"),
      continueOn: fc.record({ failure: fc.boolean(), skipped: fc.boolean() }),
    })
    .map((task) => ({ id: idOf(index), executor: "x", ...task }));
}

const yamlOf = ({ tasks }: Graph) =>
  formatWorkflowDocument({
    name: "random",
    tasks: [...tasks, { id: "last", shell: "x" }],
    finally: ["last"],
  });

/** A stable outcome for each attempt. */
const answerOf =
  ({ seed }: Graph): Answer =>
  (unit, attempt) => {
    let hash = seed;
    for (const character of `${unit}/${attempt}`)
      hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
    const dice = (hash >>> 3) % 10;
    if (dice < 6) return ok(dice);
    if (dice < 8) return bad();
    return dice === 8
      ? { state: "offline", error: { code: "offline", message: "gone" } }
      : { state: "timedOut", error: { code: "timeout", message: "late" } };
  };

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
        const ended = run.journal.flatMap((entry) => (entry.kind === "end" ? [entry.unit] : []));
        expect(new Set(ended).size).toBe(ended.length);
      }),
      { numRuns: 120 },
    );
  });

  test("the run's state follows the rule of handled failures", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const run = new TestRun(planOf(yamlOf(graph)), answerOf(graph)).toEnd();

        expect(run.progress.ended?.state).toBe(naiveState(graph, run));
      }),
      { numRuns: 120 },
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
      { numRuns: 120 },
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
      { numRuns: 120 },
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
      { numRuns: 100 },
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
      { numRuns: 100 },
    );
  });

  test("a chain of a thousand tasks is advanced within a few seconds, whatever the order it is written in", () => {
    const size = 1_000;
    const tasks = Array.from({ length: size }, (_, index) => ({
      id: idOf(size - 1 - index),
      shell: "x",
      ...(index === size - 1 ? {} : { dependsOn: [idOf(size - 2 - index)] }),
    }));
    const run = new TestRun(planOf(formatWorkflowDocument({ name: "chain", tasks })), (unit) =>
      unit === "t0" ? { state: "cancelled" } : ok(),
    ).toEnd();

    expect(run.started()).toEqual(["t0"]);
    expect(run.standings().t999).toBe("skipped: upstreamSkipped");
  });
});

/** A second, plain telling of the edges: what must have happened in the journal before a task's first start. */
function expectEdgesKept({ tasks }: Graph, journal: readonly JournalEntry[]): void {
  const ended = new Map<string, string>();
  for (const entry of journal) {
    if (entry.kind === "end") ended.set(entry.unit, entry.state);
    if (entry.kind !== "start" && entry.kind !== "expand") continue;
    const task = tasks.find(({ id }) => id === entry.unit);
    if (!task) continue;
    for (const need of task.dependsOn ?? []) expect(ended.has(need)).toBe(true);
    const fires = (source: TaskDocument) => {
      const state = ended.get(source.id) ?? "";
      const isSuccess = state === "succeeded";
      const isFailure = state === "failed" || state === "timedOut";
      return (
        (isSuccess && source.onSuccess?.includes(task.id)) ||
        (isFailure && source.onFailure?.includes(task.id)) ||
        ((isSuccess || isFailure) && source.onComplete?.includes(task.id))
      );
    };
    const sources = tasks.filter((other) =>
      [other.onSuccess, other.onFailure, other.onComplete].some((list) => list?.includes(task.id)),
    );
    if (sources.length === 0) continue;
    const active = sources.filter(fires).length;
    expect(task.join === "all" ? active === sources.length : active > 0).toBe(true);
  }
}

function naiveState({ tasks }: Graph, run: TestRun): string {
  const standing = (id: string) => run.progress.units.get(id)?.standing ?? "";
  const failures = ["last", ...tasks.map((task) => task.id)].filter((id) =>
    ["failed", "timedOut"].includes(standing(id)),
  );
  const isHandled = (id: string) => {
    const task = tasks.find((other) => other.id === id);
    const targets = task?.onFailure ?? [];
    return (
      task?.continueOn?.failure === true ||
      targets.some((target) => !["skipped", "cancelled"].includes(standing(target)))
    );
  };
  if (failures.some((id) => !isHandled(id))) return "failed";
  return failures.length > 0 ? "partiallySucceeded" : "succeeded";
}
