// The engine against a naive telling of its rules: random graphs, random ends of attempts in random order, random crashes.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldJournal } from "../../src/orchestrate/graph/apply-entry.ts";
import type { JournalEntry, Progress } from "../../src/orchestrate/graph/progress.ts";
import { expectEdgesKept, expectOncePerAttempt } from "./journal-rules.ts";
import { type Fate, predict } from "./naive-workflow.ts";
import { type Graph, graphs, yamlOf } from "./random-graphs.ts";
import { planOf, START } from "./runs.ts";
import { weather } from "./storm.ts";

const storms = fc.record({
  graph: graphs,
  luck: fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
});

function journalOf(graph: Graph, luck: Iterator<number>, crashes: number): JournalEntry[] {
  const random = () => luck.next().value as number;
  return weather({ plan: planOf(yamlOf(graph)), graph, random, crashes });
}

/** `state: reason`, as predicted. */
const told = ({ state, reason }: Fate) => (reason === undefined ? state : `${state}: ${reason}`);
const stood = (progress: Progress, unit: string) => {
  const { standing = "nowhere", reason } = progress.units.get(unit) ?? {};
  return reason === undefined ? standing : `${standing}: ${reason}`;
};

/** The executors of the attempts of a unit that came to an end, in order. */
function judged(journal: readonly JournalEntry[], unit: string): number[] {
  const position = new Map<number, number>();
  return journal.flatMap((entry) => {
    if (!("unit" in entry) || entry.unit !== unit) return [];
    if (entry.kind === "start") position.set(entry.attempt, entry.executor);
    return entry.kind === "ended" ? [position.get(entry.attempt) ?? -1] : [];
  });
}

function expectPredicted(graph: Graph, journal: readonly JournalEntry[]): void {
  const progress = foldJournal(START, journal);
  const { tasks, items, state } = predict(graph);
  const stand = [...tasks.keys()].map((id) => [id, stood(progress, id)]);
  expect(stand).toEqual([...tasks].map(([id, fate]) => [id, told(fate)]));
  expect(progress.ended?.state).toBe(state);
  for (const [id, fate] of tasks)
    if (!items.has(id)) expect([id, judged(journal, id)]).toEqual([id, fate.executors]);
  for (const [id, fates] of items) expectItems(graph, { id, fates, progress, journal });
}

/** With `failFast` the others may have been let go: which of them, is a matter of who was first. */
function expectItems(
  graph: Graph,
  {
    id,
    fates,
    progress,
    journal,
  }: { id: string; fates: Fate[]; progress: Progress; journal: readonly JournalEntry[] },
): void {
  const isFast = graph.tasks.find((task) => task.id === id)?.foreach?.failFast === true;
  const isFailing = fates.some(({ state }) => state === "failed" || state === "timedOut");
  for (const [index, fate] of fates.entries()) {
    const unit = `${id}[${index}]`;
    const standing = stood(progress, unit);
    if (isFast && isFailing && ["skipped: failFast", "cancelled: failFast"].includes(standing)) continue;
    expect([unit, standing]).toEqual([unit, told(fate)]);
    expect([unit, judged(journal, unit)]).toEqual([unit, fate.executors]);
  }
}

/** `foreach.max`: at most so many items at once. */
function expectWidth(graph: Graph, journal: readonly JournalEntry[]): void {
  const active = new Map<string, Set<string>>();
  for (const entry of journal) {
    if (!("unit" in entry) || !entry.unit.includes("[")) continue;
    const id = entry.unit.replace(/\[.*/, "");
    const units = active.get(id) ?? new Set();
    active.set(id, units);
    if (entry.kind === "start") units.add(entry.unit);
    if (entry.kind === "end") units.delete(entry.unit);
    expect(units.size).toBeLessThanOrEqual(graph.tasks.find((task) => task.id === id)?.foreach?.max ?? 1);
  }
}

/** L6: an effect is repeated by itself only where that was declared safe, and then at most twice. */
function expectNoEffectTwice(graph: Graph, journal: readonly JournalEntry[]): void {
  const running = new Set<string>();
  const unknown = new Set<string>();
  for (const entry of journal) {
    if (!("unit" in entry)) continue;
    const { unit } = entry;
    if (entry.kind === "started") running.add(unit);
    if (entry.kind === "ended") running.delete(unit);
    if (entry.kind === "lost" && running.delete(unit)) unknown.add(unit);
    if (entry.kind === "resolved") unknown.delete(unit);
    const { effects } = graph.tasks.find((task) => task.id === unit.replace(/\[.*/, "")) ?? {};
    if (entry.kind === "start" && effects === "external") expect(unknown.has(unit)).toBe(false);
  }
}

describe("the engine does what the rules say", () => {
  test("whatever ends first: every task, every attempt and the run are as predicted", () => {
    fc.assert(
      fc.property(storms, ({ graph, luck }) => {
        const journal = journalOf(graph, luck, 0);
        expectPredicted(graph, journal);
        expectOncePerAttempt(journal);
        expectEdgesKept(graph, journal);
        expectWidth(graph, journal);
      }),
      { numRuns: 120 },
    );
  });

  test("whoever dies whenever: the same, and no effect is repeated unless it is safe or a person says so", () => {
    fc.assert(
      fc.property(storms, fc.integer({ min: 1, max: 6 }), ({ graph, luck }, crashes) => {
        const journal = journalOf(graph, luck, crashes);
        expectPredicted(graph, journal);
        expectOncePerAttempt(journal);
        expectEdgesKept(graph, journal);
        expectWidth(graph, journal);
        expectNoEffectTwice(graph, journal);
      }),
      { numRuns: 120 },
    );
  });
});
