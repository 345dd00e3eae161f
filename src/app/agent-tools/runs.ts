// The `runs` tool: history, live logs and the few verbs on runs, through the same use cases as every surface.

import * as z from "zod/mini";
import { defineTool } from "../../agent/define-tool.ts";
import { keepTail } from "../../kernel/bound-text.ts";
import { Fault } from "../../kernel/errors.ts";
import { parseDuration, parseInstant } from "../../kernel/time.ts";
import { RUN_STATES } from "../../records/run.ts";
import type { Tool, ToolResult } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import { eventDocument, type RunDocument } from "../documents.ts";
import { eventsOfRun } from "../events-of-run.ts";
import { explain } from "../explain-run.ts";
import { nodesUp } from "../nodes.ts";
import { resolveRun } from "../resolve-run.ts";
import {
  cancelRun,
  findRun,
  listRuns,
  type RunTreeDocument,
  retryRun,
  runEvents,
  runTree,
  showRun,
} from "../runs.ts";
import { orAnswer } from "./or-answer.ts";
import { RUNS_TEXT } from "./runs-text.ts";

/** Characters of a run's output in one answer. */
const MAX_OUTPUT = 30_000;
/** Characters of one log line's data. */
const MAX_LINE = 2_000;

const ACTIONS = ["list", "show", "logs", "tree", "explain", "cancel", "retry", "resolve"] as const;

const schema = z
  .strictObject({
    action: z.enum(ACTIONS),
    id: z.optional(z.string().check(z.minLength(1), z.describe("Which run; not for list."))),
    job: z.optional(z.string().check(z.minLength(1), z.describe("list: only of this job, by id or name."))),
    state: z.optional(
      z
        .union([z.enum(RUN_STATES), z.array(z.enum(RUN_STATES))])
        .check(z.describe("list: only in this state, or these.")),
    ),
    since: z.optional(
      z
        .string()
        .check(z.minLength(1), z.describe("list: created since an instant, or within a duration (24h).")),
    ),
    limit: z.optional(
      z.int().check(z.gte(1), z.lte(200), z.describe("list: default 20. logs: default 100.")),
    ),
    before: z.optional(
      z.string().check(z.minLength(1), z.describe("list: the page after the run with this id.")),
    ),
    after: z.optional(z.int().check(z.gte(0), z.describe("logs: only after this sequence, oldest first."))),
    sameKey: z.optional(z.boolean().check(z.describe("retry: with the same idempotency key."))),
    as: z.optional(z.enum(["succeeded", "failed", "rerun"]).check(z.describe("resolve."))),
    note: z.optional(z.string().check(z.describe("resolve: how you know."))),
  })
  .check(
    z.refine(({ action, id }) => action === "list" || id !== undefined, "this action needs `id`"),
    z.refine(({ action, as }) => action !== "resolve" || as !== undefined, "resolve needs `as`"),
  );

type Input = z.infer<typeof schema>;

export function makeRunsTool(context: Context): Tool {
  return defineTool({
    name: "runs",
    toolset: "runs",
    description: RUNS_TEXT,
    schema,
    isParallelSafe: false,
    summarise: ({ action, id, job }) => [action, id ?? job ?? ""].join(" ").trim().slice(0, 80),
    run: (input) => orAnswer(() => act(context, input)),
  });
}

async function act(context: Context, input: Input): Promise<ToolResult> {
  const { action, id = "" } = input;
  switch (action) {
    case "list":
      return list(context, input);
    case "show":
      return { error: null, run: bounded(await showRun(context, id)) };
    case "logs":
      return logs(context, id, input);
    case "tree":
      return { error: null, tree: briefTree(await runTree(context, id)) };
    case "explain":
      return { error: null, ...(await explain(context, id)) };
    case "cancel":
      return { error: null, run: briefly(await cancelRun(context, id)) };
    case "retry": {
      const run = await retryRun(context, id, { isSameKey: input.sameKey ?? false });
      return { error: null, run: briefly(run), warnings: await nodeWarnings(context) };
    }
    case "resolve": {
      const { as = "failed", note } = input;
      const run = await resolveRun(context, id, { as, ...(note !== undefined && { note }) });
      return { error: null, run: briefly(run), resolutions: run.resolutions };
    }
  }
}

/** Said wherever work is queued (hermes#87033: "scheduled" though nothing lives to do it). */
export async function nodeWarnings(context: Context): Promise<string[]> {
  if ((await nodesUp(context)).length > 0) return [];
  return ["no node is up to run it: start one with `nightshift up`."];
}

async function list(context: Context, input: Input): Promise<ToolResult> {
  const { job, state, before, limit = 20 } = input;
  const runs = await listRuns(context, {
    ...(job !== undefined && { job: (await context.findJob(job)).definition.jobId }),
    ...(state && { state: typeof state === "string" ? [state] : state }),
    ...(input.since !== undefined && { since: sinceOf(input.since, await context.ledger.now()) }),
    ...(before !== undefined && { before }),
    limit,
  });
  return { error: null, runs: runs.map(briefly) };
}

function sinceOf(text: string, now: number): number {
  const ago = parseDuration(text);
  const instant = ago === undefined ? parseInstant(text) : now - ago;
  if (instant !== undefined) return instant;
  throw new Fault("input.invalid", `since "${text}" is neither an instant nor a duration.`, {
    hint: "Write 2026-12-24T18:00:00Z, or 24h.",
  });
}

async function logs(context: Context, idOrPrefix: string, input: Input): Promise<ToolResult> {
  const run = await findRun(context, idOrPrefix);
  const limit = input.limit ?? 100;
  const events =
    input.after === undefined
      ? (await eventsOfRun(context, run.id)).slice(-limit)
      : await runEvents(context, run.id, input.after, limit);
  const lines = events.map(eventDocument).map(({ sequence, at, kind, data }) => {
    const text = typeof data.text === "string" ? data.text : JSON.stringify(data);
    return { sequence, at, kind, text: keepTail(text, MAX_LINE).text };
  });
  return { error: null, run: { id: run.id, state: run.state }, lines, last: lines.at(-1)?.sequence ?? null };
}

export function briefly(run: RunDocument): Record<string, unknown> {
  const { id, jobId, kind, state, reason, trigger, slot, attempt, createdAt, startedAt, finishedAt } = run;
  const { durationMs, usage } = run;
  return {
    ...{
      id,
      jobId,
      kind,
      state,
      reason,
      trigger,
      slot,
      attempt,
      createdAt,
      startedAt,
      finishedAt,
      durationMs,
    },
    ...(usage && { usage }),
  };
}

function briefTree(node: RunTreeDocument): Record<string, unknown> {
  return { ...briefly(node), children: node.children.map(briefTree) };
}

/** The end of a long output is what a reader wants. */
export function bounded(run: RunDocument): RunDocument & { note?: string } {
  const output = run.outcome?.output;
  if (!run.outcome || output === undefined || output.length <= MAX_OUTPUT) return run;
  const { text, omitted } = keepTail(output, MAX_OUTPUT);
  const note = `The first ${omitted} characters of the output are left out; the whole is in ${run.outputFile ?? "the ledger"}.`;
  return { ...run, outcome: { ...run.outcome, output: text, isTruncated: true }, note };
}
