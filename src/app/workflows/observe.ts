// What the world reports of a live workflow's tasks: rows that began or ended, people's words, executors that are down.

import { hasEnded, type UnitState } from "../../orchestrate/graph/progress.ts";
import type { Outcome } from "../../records/outcome.ts";
import { isTerminal, type Run, type TerminalState } from "../../records/run.ts";
import { unitOf } from "../run-names.ts";
import { untilStored } from "../until-stored.ts";
import { runLike } from "./carry-out.ts";
import type { InlineTask } from "./inline-task.ts";
import { type LiveWorkflow, plannedOf } from "./live-workflow.ts";
import { bareRow, endedEntry } from "./task-rows.ts";

/** After a crash or a stop: what became of the attempts that the journal knows as open. */
export async function recoverRows(live: LiveWorkflow): Promise<void> {
  const open = [...live.progress.units].filter(
    ([, unit]) => !hasEnded(unit) && ["queued", "running", "waiting"].includes(unit.standing),
  );
  if (open.length === 0) return;
  const rows = await tasksOf(live);
  const byKey = new Map(rows.map((row) => [`${unitOf(row)}#${row.attempt}`, row]));
  for (const [unit, state] of open)
    recoverUnit(live, { unit, state, row: byKey.get(`${unit}#${attemptOf(state)}`) });
}

function recoverUnit(
  live: LiveWorkflow,
  { unit, state, row }: { unit: string; state: UnitState; row: Run | undefined },
): void {
  const { attempt } = state;
  if (row && !isTerminal(row.state)) live.open.set(row.id, { unit, attempt: row.attempt });
  if (row) live.rows.set(unit, row.id);
  if (state.standing === "waiting") return;
  const at = live.deps.context.clock.now();
  // A task without a row ran in the process that died, and had no effects.
  if (!row) {
    live.note({ kind: "lost", unit, at, attempt });
    return;
  }
  if (row.startedAt !== undefined) live.note({ kind: "started", unit, at: row.startedAt, attempt });
  if (isTerminal(row.state)) noteEnd(live, row);
}

/** Attempts of this process that have ended since the last look. */
export function noteInlineEnds(live: LiveWorkflow): void {
  for (const [unit, task] of live.inline) {
    if (!task.outcome) continue;
    live.inline.delete(unit);
    noteInlineEnd(live, unit, { task, outcome: task.outcome });
  }
}

function noteInlineEnd(
  live: LiveWorkflow,
  unit: string,
  { task, outcome }: { task: InlineTask; outcome: Outcome },
): void {
  const { id, attempt, idempotencyKey } = task.ctx.run;
  const { startedAt, finishedAt = live.deps.context.clock.now() } = task;
  const place = { root: live.ctx.run, unit, attempt, id, now: startedAt };
  const end = { ...endStateOf(outcome), outcome, startedAt, finishedAt };
  const row = { ...bareRow(place, plannedOf(live, unit).task), idempotencyKey, ...end };
  live.writer.task(row);
  const asRow: Run = { ...runLike(live.ctx.run, row), ...end };
  live.note(endedEntry(asRow, { unit, at: finishedAt, stopping: live.progress.units.get(unit)?.stopping }));
}

function endStateOf(outcome: Outcome): { state: TerminalState; reason: string | undefined } {
  switch (outcome.state) {
    case "failed":
      return { state: "failed", reason: outcome.error.code };
    case "cancelled":
      return { state: "cancelled", reason: outcome.by };
    case "timedOut":
      return { state: "timedOut", reason: outcome.limit };
    case "unknown":
      return { state: "unknown", reason: outcome.why };
    default:
      return { state: "succeeded", reason: undefined };
  }
}

/** Rows that have begun or ended since the last look, and what people said of those that wait. */
export async function readRows(live: LiveWorkflow): Promise<void> {
  const rows = await tasksOf(live, [...live.open.keys()]);
  for (const row of rows) {
    const unit = live.open.get(row.id)?.unit;
    const state = unit === undefined ? undefined : live.progress.units.get(unit);
    if (unit !== undefined && state?.standing === "queued" && row.startedAt !== undefined)
      live.note({ kind: "started", unit, at: row.startedAt, attempt: row.attempt });
    if (isTerminal(row.state)) noteEnd(live, row);
  }
  await readResolutions(live);
}

function noteEnd(live: LiveWorkflow, row: Run): void {
  const unit = live.open.get(row.id)?.unit ?? unitOf(row);
  live.open.delete(row.id);
  const state = unit === undefined ? undefined : live.progress.units.get(unit);
  if (unit === undefined || !state || state.standing === "waiting") return;
  const at = row.finishedAt ?? live.deps.context.clock.now();
  live.note(endedEntry(row, { unit, at, stopping: state.stopping }));
}

/** A person's word about an approval, or about an attempt whose effect is unknown (L6). */
async function readResolutions(live: LiveWorkflow): Promise<void> {
  const waiting = [...live.progress.units].filter(([, unit]) => isQuestion(unit));
  if (waiting.length === 0) return;
  const { ledger } = live.deps.context;
  const said = await stored(live, "read resolutions", () => ledger.resolutionsOf(live.ctx.run.id));
  if (said.length === 0) return;
  const rows = await tasksOf(live);
  for (const [unit, state] of waiting) {
    const row = rows.find((one) => unitOf(one) === unit && one.attempt === attemptOf(state));
    const word = said.find((one) => one.runId === row?.id && one.as !== "early");
    if (word === undefined || word.as === "early") continue;
    live.note({ kind: "resolved", unit, at: live.deps.context.clock.now(), as: word.as, by: word.by });
  }
}

const isQuestion = (unit: UnitState) =>
  unit.standing === "waiting" && !unit.resolution && (unit.reason === "approval" || unit.reason === "effect");

/** Executors that are known to be down are passed over (W5). */
export function noteHealth(live: LiveWorkflow): void {
  const offline = live.deps.offlineExecutors();
  const at = live.deps.context.clock.now();
  for (const executor of offline)
    if (!live.progress.offline.has(executor)) live.note({ kind: "executorOffline", at, executor });
  for (const executor of [...live.progress.offline])
    if (!offline.has(executor)) live.note({ kind: "executorOnline", at, executor });
}

/** A row that stands for a wait has the number 1, as no attempt was made. */
const attemptOf = ({ attempt }: UnitState) => Math.max(1, attempt);

function tasksOf(live: LiveWorkflow, ids?: readonly string[]): Promise<readonly Run[]> {
  return stored(live, "read tasks", () => live.deps.context.ledger.tasksOf(live.ctx.run.id, ids));
}

function stored<T>({ deps }: LiveWorkflow, what: string, call: () => Promise<T>): Promise<T> {
  return untilStored(deps.context, what, call, deps.giveUp);
}
