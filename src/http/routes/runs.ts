// Runs and the audit: list, show, tree, events, explain, cancel, retry, resolve.

import * as z from "zod/mini";
import { readAudit } from "../../app/audit.ts";
import { eventDocument } from "../../app/documents.ts";
import { explain } from "../../app/explain-run.ts";
import { resolveRun } from "../../app/resolve-run.ts";
import { cancelRun, findRun, listRuns, retryRun, runEvents, runTree, showRun } from "../../app/runs.ts";
import { retryFromTask } from "../../app/workflows/retry-run.ts";
import { RUN_STATES } from "../../records/run.ts";
import { parseBody } from "../bodies.ts";
import {
  auditSchema,
  eventSchema,
  explanationSchema,
  runSchema,
  runShowSchema,
  runTreeSchema,
} from "../contract/runs.ts";
import { instantParameter, numberParameter, textParameter, wordsParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";
import { jobIdOf } from "./job-id.ts";

const tag = "runs";
const one = { 200: { description: "The run.", schema: runSchema } };

const list = route({
  method: "get",
  path: "/runs",
  operationId: "listRuns",
  summary: "Runs, newest first.",
  tag,
  query: {
    job: textParameter("Only runs of this job, by id or name."),
    state: wordsParameter("Only runs in this state.", RUN_STATES),
    since: instantParameter("Only runs created since then."),
    limit: numberParameter("At most so many. Default 50.", { min: 1, max: 1_000 }),
    before: textParameter("The page after the run with this id."),
  },
  answers: { 200: { description: "Runs.", schema: z.array(runSchema) } },
  async handle({ context, query: { job, ...rest } }) {
    const jobId = await jobIdOf(context, job);
    return answer(await listRuns(context, { ...rest, ...(jobId !== undefined && { job: jobId }) }));
  },
});

const show = route({
  method: "get",
  path: "/runs/{id}",
  operationId: "showRun",
  summary: "One run, by id or its beginning.",
  tag,
  answers: { 200: { description: "The run, with an agent's turns.", schema: runShowSchema } },
  handle: async ({ context, path: { id = "" } }) => answer(await showRun(context, id)),
});

const tree = route({
  method: "get",
  path: "/runs/{id}/tree",
  operationId: "showRunTree",
  summary: "The whole tree a run belongs to, from its root.",
  tag,
  answers: { 200: { description: "The root with its children.", schema: runTreeSchema } },
  handle: async ({ context, path: { id = "" } }) => answer(await runTree(context, id)),
});

const events = route({
  method: "get",
  path: "/runs/{id}/events",
  operationId: "listRunEvents",
  summary: "The run's live log, oldest first.",
  tag,
  query: {
    after: numberParameter("Only events after this sequence.", { min: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: numberParameter("At most so many. Default 1000.", { min: 1, max: 1_000 }),
  },
  answers: { 200: { description: "Events.", schema: z.array(eventSchema) } },
  async handle({ context, path: { id = "" }, query }) {
    const run = await findRun(context, id);
    const found = await runEvents(context, run.id, query.after ?? 0, query.limit ?? 1_000);
    return answer(found.map(eventDocument));
  },
});

const explained = route({
  method: "get",
  path: "/runs/{id}/explain",
  operationId: "explainRun",
  summary: "Why it is not running, in one sentence.",
  tag,
  answers: { 200: { description: "The explanation.", schema: explanationSchema } },
  handle: async ({ context, path: { id = "" } }) => answer(await explain(context, id)),
});

const cancel = route({
  method: "post",
  path: "/runs/{id}/cancel",
  operationId: "cancelRun",
  summary: "Asks for its end; one that is not live ends at once.",
  tag,
  answers: one,
  handle: async ({ context, path: { id = "" } }) => answer(await cancelRun(context, id)),
});

const retrySchema = z.strictObject({
  sameKey: z.optional(z.boolean()),
  from: z.optional(z.string()),
  downstream: z.optional(z.boolean()),
});

const retry = route({
  method: "post",
  path: "/runs/{id}/retry",
  operationId: "retryRun",
  summary:
    "Runs it again, with a new idempotency key unless sameKey (L6); a workflow's run from a task on, with `from`.",
  tag,
  body: { types: ["application/json"], schema: retrySchema, isRequired: false },
  answers: { 202: { description: "Queued as a new run.", schema: runSchema } },
  async handle({ context, path: { id = "" }, body }) {
    const { sameKey = false, from: task, downstream = false } = parseBody(body, retrySchema);
    const document =
      task === undefined
        ? await retryRun(context, id, { isSameKey: sameKey })
        : await retryFromTask(context, await findRun(context, id), { task, isDownstream: downstream });
    return { status: 202, document, headers: { location: `/api/runs/${document.id}` } };
  },
});

const resolveSchema = z.strictObject({
  as: z.enum(["succeeded", "failed", "rerun"]),
  note: z.optional(z.string()),
});

const resolve = route({
  method: "post",
  path: "/runs/{id}/resolve",
  operationId: "resolveRun",
  summary: "What a person knows of an unknown run (L1, L6).",
  tag,
  body: { types: ["application/json"], schema: resolveSchema, isRequired: true },
  answers: one,
  async handle({ context, path: { id = "" }, body }) {
    const { as, note } = parseBody(body, resolveSchema);
    return answer(await resolveRun(context, id, { as, ...(note !== undefined && { note }) }));
  },
});

const audit = route({
  method: "get",
  path: "/audit",
  operationId: "audit",
  summary: "Recomputes what was due and compares it with the ledger (L9).",
  tag,
  query: {
    since: instantParameter("From then on. Default: from the beginning."),
    job: textParameter("Only this job, by id or name."),
  },
  answers: { 200: { description: "The audit; isClean says it in a word.", schema: auditSchema } },
  async handle({ context, query: { since, job } }) {
    const jobId = await jobIdOf(context, job);
    return answer(
      await readAudit(context, {
        ...(since !== undefined && { since }),
        ...(jobId !== undefined && { jobId }),
      }),
    );
  },
});

export const runRoutes: readonly Route[] = [
  list,
  show,
  tree,
  events,
  explained,
  cancel,
  retry,
  resolve,
  audit,
];
