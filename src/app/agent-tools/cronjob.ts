// The `cronjob` tool: an agent schedules and manages jobs, through the same use cases as every surface.
//
// I1. Refused inside a run unless a person allowed it (S1), and never for the run's own job: it would go on for ever.
// I2. Every text that will be a prompt passes the guard, every command the lifecycle check, at create and at update.
// I3. What people own (model, key, budget) can neither be said nor be lost here (upstream.md 1.6).

import { defineTool } from "../../agent/define-tool.ts";
import { Fault } from "../../kernel/errors.ts";
import { parseInstant } from "../../kernel/time.ts";
import type { Origin } from "../../records/delivery.ts";
import { isLive } from "../../records/run.ts";
import type { Tool, ToolResult } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import { parseDraft } from "../job-documents.ts";
import { readJobText, updateJob } from "../job-editing.ts";
import { addJob, listJobs, pauseJob, queueRun, removeJob, resumeJob, showJob } from "../jobs.ts";
import { echoAnswer, listAnswer, localOnlyWarning, showAnswer } from "./cronjob-answers.ts";
import { draftOf, patchOf } from "./cronjob-draft.ts";
import { type CronjobInput, cronjobSchema } from "./cronjob-schema.ts";
import { CRONJOB_TEXT } from "./cronjob-text.ts";
import { ignoringPeoples } from "./ignoring-peoples.ts";
import { orAnswer } from "./or-answer.ts";
import { refuseThreats } from "./refuse-threats.ts";
import { nodeWarnings } from "./runs.ts";

export interface CronjobDeps {
  context: Context;
  /** Where the calling session came from (O4). */
  origin?: Origin | undefined;
  /** The run that calls, if one does (S1). */
  caller?: { runId: string; jobId: string | undefined } | undefined;
}

export function makeCronjobTool(deps: CronjobDeps): Tool {
  const tool = defineTool({
    name: "cronjob",
    toolset: "cronjob",
    description: CRONJOB_TEXT,
    schema: cronjobSchema,
    isParallelSafe: false,
    summarise: ({ action, id, name }) => [action, id ?? name ?? ""].join(" ").trim().slice(0, 80),
    run: (input) => orAnswer(() => act(deps, input)),
  });
  return ignoringPeoples(tool);
}

async function act(deps: CronjobDeps, input: CronjobInput): Promise<ToolResult> {
  const { context } = deps;
  const { action, id = input.name ?? "" } = input;
  if (action === "list") return list(context, input);
  if (action === "show") return showAnswer(await showJob(context, id), await context.ledger.now());
  refuseInsideRun(deps);
  switch (action) {
    case "create":
      return create(deps, input);
    case "update":
      return update(deps, input, id);
    case "pause":
      return { error: null, paused: await pauseJob(context, id, pauseOf(input)) };
    case "resume":
      await refuseOwnJob(deps, id);
      return { error: null, resumed: await resumeJob(context, id) };
    case "remove":
      return { error: null, removed: await removeJob(context, id, { isCancelling: input.cancel ?? false }) };
    case "run":
      await refuseOwnJob(deps, id);
      return runNow(context, id);
  }
}

async function list(context: Context, { state }: CronjobInput): Promise<ToolResult> {
  const jobs = await listJobs(context);
  return listAnswer(state ? jobs.filter((job) => job.state === state) : jobs, await context.ledger.now());
}

async function create({ context, origin }: CronjobDeps, input: CronjobInput): Promise<ToolResult> {
  await refuseThreats(context, input);
  const echo = await addJob(context, parseDraft(draftOf(input, origin)), {
    ...(input.paused && { paused: input.reason ?? "" }),
  });
  return echoAnswer("created", echo, localOnlyWarning(echo));
}

async function update(deps: CronjobDeps, input: CronjobInput, idOrName: string): Promise<ToolResult> {
  const { context } = deps;
  const { view } = await readJobText(context, idOrName);
  const { jobId } = view.definition;
  await refuseOwnJob(deps, jobId);
  const before = await showJob(context, jobId);
  await refuseThreats(context, input);
  const { patch, agent } = patchOf(input, before);
  if (Object.keys(patch).length + Object.keys(agent).length === 0) {
    throw new Fault("input.usage", "Nothing to change was named.", {
      hint: "Name the keys that shall change.",
    });
  }
  const echo = await updateJob(context, jobId, patch, { agent, expectVersion: view.definition.version });
  return echoAnswer("changed", echo, input.deliver ? localOnlyWarning(echo) : []);
}

function pauseOf({ reason, until }: CronjobInput): Parameters<typeof pauseJob>[2] {
  const instant = until === undefined ? undefined : parseInstant(until);
  if (until !== undefined && instant === undefined) {
    throw new Fault("input.invalid", `until "${until}" is no instant.`, {
      hint: "Write an instant with an offset, such as 2026-12-24T18:00:00Z.",
    });
  }
  return { ...(reason !== undefined && { reason }), ...(instant !== undefined && { until: instant }) };
}

/** A model that gets no answer at once asks again: a second run is not queued behind a live one. */
async function runNow(context: Context, idOrName: string): Promise<ToolResult> {
  const { definition, openRuns } = await context.findJob(idOrName);
  const busy = openRuns.find(({ state, trigger }) => isLive(state) || trigger === "manual");
  if (busy && context.parseJob(definition).overlap !== "allow") {
    throw new Fault(
      "input.conflict",
      `Run ${busy.id} of job "${definition.jobId}" is ${busy.state} already.`,
      {
        hint: "Wait for its end, or cancel it.",
        details: { runId: busy.id },
      },
    );
  }
  const run = await queueRun(context, definition.jobId);
  const warnings = await nodeWarnings(context);
  return { error: null, run: { id: run.id, jobId: run.jobId, state: run.state }, warnings };
}

/** (I1) */
function refuseInsideRun({ context, caller }: CronjobDeps): void {
  if (!caller || context.config.http.allowRunsToSchedule) return;
  throw new Fault("auth.forbidden", `run ${caller.runId} may not change jobs.`, {
    hint: "Say in the answer what should be scheduled; a person can allow it with `http.allowRunsToSchedule: true` in config.yaml.",
  });
}

/** (I1) A job that changes or starts itself goes on for ever; pausing and removing itself ends it, and is its right. */
async function refuseOwnJob({ context, caller }: CronjobDeps, idOrName: string): Promise<void> {
  if (caller?.jobId === undefined) return;
  const { definition } = await context.findJob(idOrName);
  if (definition.jobId !== caller.jobId) return;
  throw new Fault("input.refused", `Job "${caller.jobId}" may not change or start itself.`, {
    hint: "Leave it to its schedule, or say in the answer what should change.",
  });
}
