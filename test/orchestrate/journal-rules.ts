// What must hold of every journal, whatever the graph and whatever happened.

import { expect } from "vitest";
import type { JournalEntry } from "../../src/orchestrate/graph/progress.ts";
import type { TaskDocument } from "../../src/records/workflow.ts";
import type { Graph } from "./random-graphs.ts";

/** A second, plain telling of the edges: what must have happened in the journal before a task's first start. */
export function expectEdgesKept({ tasks }: Graph, journal: readonly JournalEntry[]): void {
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

/** Attempts are counted from 1, each is begun and ended at most once, and nothing happens to a unit that has ended. */
export function expectOncePerAttempt(journal: readonly JournalEntry[]): void {
  const seen = new Set<string>();
  const attempts = new Map<string, number>();
  const over = new Set<string>();
  for (const entry of journal) {
    if (!("unit" in entry)) continue;
    expect(over.has(entry.unit)).toBe(false);
    if (entry.kind === "start") {
      expect(entry.attempt).toBe((attempts.get(entry.unit) ?? 0) + 1);
      attempts.set(entry.unit, entry.attempt);
    }
    if (entry.kind === "started" || entry.kind === "ended") {
      const key = `${entry.kind} ${entry.unit} ${entry.attempt}`;
      expect(seen.has(key)).toBe(false);
      seen.add(key);
    }
    if (entry.kind === "end") over.add(entry.unit);
  }
}
