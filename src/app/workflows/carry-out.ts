// Carrying out what the graph decided: attempts begin, stop, wait for people, and everything that ended has a row (law 1).

import type { Decision, UnitState } from "../../orchestrate/graph/progress.ts";
import { renderUnit } from "../../orchestrate/graph/render-unit.ts";
import { executorAt } from "../../orchestrate/graph/scope.ts";
import type { NewTask } from "../../records/ledger/workflows.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Run } from "../../records/run.ts";
import { startInline } from "./inline-task.ts";
import { type LiveWorkflow, plannedOf } from "./live-workflow.ts";
import { secretsOf, standIns, withSecrets } from "./secret-stand-ins.ts";
import { type AttemptPlace, attemptRow, bareRow } from "./task-rows.ts";

type Of<Kind extends Decision["kind"]> = Extract<Decision, { kind: Kind }>;

/** `before` is the unit as it stood before the decision was applied. */
export function carryOut(live: LiveWorkflow, decision: Decision, before: UnitState | undefined): undefined {
  switch (decision.kind) {
    case "start":
      return startAttempt(live, decision);
    case "stop":
      return stopAttempt(live, decision);
    case "wait":
      return putWaiting(live, decision);
    case "end":
      return putEnd(live, decision, before);
    default:
      return;
  }
}

function startAttempt(live: LiveWorkflow, { unit, attempt, executor: position, at }: Of<"start">): undefined {
  const { deps, ctx, progress, started } = live;
  const planned = plannedOf(live, unit);
  const secrets = standIns(Object.keys(planned.secretStandIns));
  const rendered = renderUnit(started.plan, progress, { unit, now: at, secrets });
  const { task } = planned;
  const place = { root: ctx.run, unit, attempt, id: live.newId(), now: at };
  if (!rendered.ok)
    return refuse(live, place, "template", `a template cannot be filled: ${rendered.message}`);
  const name = executorAt(planned, position);
  const { idempotencyKey: key, params, env } = rendered.value;
  const spent = overBudget(live);
  if (spent !== undefined) return refuse(live, place, "budget", spent);
  const impossible = deps.whyImpossible({ task, executor: name, key });
  if (impossible !== undefined) return refuse(live, place, "offline", `${name ?? task.id} ${impossible}`);
  const running = live.inline.size;
  const inline = name === undefined ? undefined : deps.inlineExecutor({ task, name, running, key });
  if (inline) {
    const run = runLike(ctx.run, { ...bareRow(place, task), idempotencyKey: key });
    const { clock } = deps.context;
    const given = () => filledIn(live, { params, env }, Object.keys(secrets).length > 0);
    const call = () => deps.call(inline, { ...given(), task }, inlineTask.ctx);
    const inlineTask = startInline({ call, run, unit, clock, parent: ctx, timeoutMs: task.timeoutMs });
    live.inline.set(unit, inlineTask);
    return;
  }
  const admission = deps.admissionFor({ task, executor: name, key });
  live.writer.task(attemptRow(place, { task, rendered: rendered.value, executor: name }, admission));
  live.open.set(place.id, { unit, attempt });
  live.rows.set(unit, place.id);
}

/** An attempt that cannot begin, on record with the reason. */
function refuse(
  live: LiveWorkflow,
  place: AttemptPlace,
  code: "template" | "budget" | "offline",
  message: string,
): undefined {
  const { unit, attempt, now: at } = place;
  const error = { code, message };
  live.writer.task({
    ...bareRow(place, plannedOf(live, unit).task),
    ...{ state: "failed", reason: code, outcome: { state: "failed", error } },
    ...{ startedAt: undefined, finishedAt: at },
  });
  const state = code === "offline" ? "offline" : "failed";
  live.note({ kind: "ended", unit, at, attempt, outcome: { state, error } });
}

/** What a task of this process is given: its secrets' values instead of their stand-ins. */
function filledIn<Given extends object>({ deps }: LiveWorkflow, given: Given, hasSecrets: boolean): Given {
  if (!hasSecrets) return given;
  return JSON.parse(withSecrets(JSON.stringify(given), secretsOf(deps.context))) as Given;
}

/** `budget.spawns`: how many attempts a run may start in all. */
function overBudget({ started, progress }: LiveWorkflow): string | undefined {
  const { spawns } = started.workflow.budget;
  if (spawns === undefined) return undefined;
  const count = [...progress.units.values()].reduce((sum, { attempt }) => sum + attempt, 0);
  return count > spawns ? `the workflow's budget of ${spawns} started tasks is spent` : undefined;
}

function stopAttempt(live: LiveWorkflow, { unit, why }: Of<"stop">): undefined {
  const inline = live.inline.get(unit);
  if (inline) inline.stop({ kind: "cancel", by: why });
  else for (const [runId, one] of live.open) if (one.unit === unit) live.writer.cancel(runId, why);
}

function putWaiting(live: LiveWorkflow, { unit, reason, at }: Of<"wait">): undefined {
  if (reason === "effect") return askAboutEffect(live, unit);
  if (reason === "retry") return;
  const { task } = plannedOf(live, unit);
  const place = { root: live.ctx.run, unit, attempt: 1, id: live.newId(), now: at };
  live.writer.task({ ...bareRow(place, task), state: "waiting", reason });
  live.open.set(place.id, { unit, attempt: 1 });
  if (task.work.kind !== "approval") return;
  const rendered = renderUnit(live.started.plan, live.progress, { unit, now: at });
  const message = String((rendered.ok ? rendered.value.work.message : undefined) ?? task.work.message);
  live.writer.deliver(live.deps.ask({ about: "approval", unit, attempt: 1, runId: place.id, message }));
}

function askAboutEffect(live: LiveWorkflow, unit: string): undefined {
  const attempt = live.progress.units.get(unit)?.attempt ?? 1;
  const runId = live.rows.get(unit) ?? live.ctx.run.id;
  const message = "its node is gone, and nobody knows how far it came";
  live.writer.deliver(live.deps.ask({ about: "effect", unit, attempt, runId, message }));
}

/** What ended without an attempt gets a row all the same; what waited gets its end. */
function putEnd(live: LiveWorkflow, decision: Of<"end">, before: UnitState | undefined): undefined {
  const { unit, state, reason, at } = decision;
  if (before?.standing === "expanded") return;
  const outcome = outcomeOf(decision);
  const waiting = [...live.open].find(([, one]) => one.unit === unit);
  if (waiting) {
    live.open.delete(waiting[0]);
    live.writer.ending({ runId: waiting[0], state, reason, outcome });
    return;
  }
  if (before !== undefined && before.attempt > 0) return;
  const place = { root: live.ctx.run, unit, attempt: 1, id: live.newId(), now: at };
  const row = bareRow(place, plannedOf(live, unit).task);
  live.writer.task({ ...row, state, reason, outcome, startedAt: undefined, finishedAt: at });
}

function outcomeOf({ state, error, result, reason }: Of<"end">): Outcome | undefined {
  if (state === "succeeded") return { state, output: "", isSilent: true, result };
  if (state === "cancelled") return { state, by: reason ?? "cancelled" };
  if (state === "failed" && error) {
    const { exitCode, ...rest } = error;
    return { state, error: { ...rest, ...(exitCode !== undefined && { exitCode }) } };
  }
  return undefined;
}

/** An attempt without a row yet, as the rest of the program knows runs. */
export function runLike(root: Run, task: NewTask): Run {
  return {
    ...root,
    ...task,
    ...{ state: "running", reason: undefined, input: undefined, queue: undefined, admission: undefined },
    ...{ outcome: undefined, usage: undefined, outputFile: undefined, finishedAt: undefined },
  };
}
