// A run of a random graph as it goes in the world: attempts end in any order, time passes meanwhile, and whoever has the
// run dies again and again, with the decisions that were not recorded yet, and with the attempts that were at work.
//
// I1. Decisions are recorded before they are carried out: what a crash takes is the newest decisions, never an event.
// I2. A lost attempt ends nowhere: the outcome that it would have had comes to the next one.

import { advance, nextWake } from "../../src/orchestrate/graph/advance.ts";
import { applyEntry, foldJournal } from "../../src/orchestrate/graph/apply-entry.ts";
import type { Plan } from "../../src/orchestrate/graph/plan.ts";
import type { JournalEntry, ProgressEvent } from "../../src/orchestrate/graph/progress.ts";
import { type Graph, outcomeOf } from "./random-graphs.ts";
import { START } from "./runs.ts";

const MOST_STEPS = 5_000;

export interface Storm {
  plan: Plan;
  graph: Graph;
  /** In [0, 1). */
  random(): number;
  /** How many times the owner dies. */
  crashes: number;
}

/** The journal of a run that has ended. */
export function weather(storm: Storm): JournalEntry[] {
  const { plan, graph, random } = storm;
  let journal: JournalEntry[] = graph.offline.map((executor) => ({
    kind: "executorOffline",
    at: 0,
    executor,
  }));
  let progress = foldJournal(START, journal);
  let { crashes } = storm;
  let now = 0;
  const record = (entry: JournalEntry) => {
    journal.push(entry);
    applyEntry(progress, entry);
  };
  for (let step = 0; step < MOST_STEPS; step += 1) {
    for (const decision of advance(plan, progress, now)) record(decision);
    if (progress.ended) return journal;
    if (crashes > 0 && random() < 0.15) {
      crashes -= 1;
      journal = journal.slice(0, journal.length - Math.floor(random() * newest(journal)));
      progress = foldJournal(START, journal);
      for (const event of losses(progress.units, { now, random })) record(event);
      continue;
    }
    const events = possible({ graph, journal, units: progress.units, now });
    const wake = nextWake(plan, progress);
    const event = events[Math.floor(random() * events.length)];
    if (event && (wake === undefined || random() < 0.8)) record(event);
    else if (wake !== undefined) now = Math.max(now, wake);
    else throw new Error("nothing can happen any more, and the run has not ended");
  }
  throw new Error("the run does not end");
}

/** How many decisions stand at the journal's end. */
function newest(journal: readonly JournalEntry[]): number {
  const last = journal.findLastIndex(({ kind }) =>
    ["started", "ended", "lost", "resolved", "executorOffline"].includes(kind),
  );
  return journal.length - last;
}

type Units = ReturnType<typeof foldJournal>["units"];

/** What was at work is lost; what waits in a queue may be. */
function losses(units: Units, { now, random }: { now: number; random(): number }): ProgressEvent[] {
  return [...units].flatMap(([unit, { standing, attempt }]): ProgressEvent[] =>
    standing === "running" || (standing === "queued" && random() < 0.5)
      ? [{ kind: "lost", unit, at: now, attempt }]
      : [],
  );
}

/** What may happen next, to any unit. People say `rerun` of an effect that nobody knows of. */
function possible({
  graph,
  journal,
  units,
  now: at,
}: {
  graph: Graph;
  journal: readonly JournalEntry[];
  units: Units;
  now: number;
}): ProgressEvent[] {
  return [...units].flatMap(([unit, { standing, attempt, reason, stopping }]): ProgressEvent[] => {
    if (standing === "queued") return [{ kind: "started", unit, at, attempt }];
    if (standing === "waiting" && reason === "effect")
      return [{ kind: "resolved", unit, at, as: "rerun", by: "ann" }];
    if (standing !== "running") return [];
    if (stopping) return [{ kind: "ended", unit, at, attempt, outcome: { state: "cancelled" } }];
    const judged = journal.filter((entry) => entry.kind === "ended" && entry.unit === unit).length;
    return [{ kind: "ended", unit, at, attempt, outcome: outcomeOf(graph, unit, judged + 1) }];
  });
}
