// Jobs: list, show, add, change, remove, run. One use case a route.

import * as z from "zod/mini";
import { JOB_STATES } from "../../app/documents.ts";
import {
  addJob,
  jobNext,
  listJobs,
  pauseJob,
  queueRun,
  removeJob,
  resumeJob,
  showJob,
} from "../../app/jobs.ts";
import { slugify } from "../../kernel/ids.ts";
import { parseInstant } from "../../kernel/time.ts";
import type { JobDocument } from "../../records/job.ts";
import { parseJobDocument } from "../../records/job-document.ts";
import { jobSchema } from "../../records/job-schema.ts";
import { parseBody, requireJson } from "../bodies.ts";
import { jobEchoSchema, jobNextSchema, jobRemovedSchema, jobShowSchema } from "../contract/jobs.ts";
import { runSchema } from "../contract/runs.ts";
import { flagParameter, numberParameter, textParameter, wordsParameter } from "../parameters.ts";
import { answer, etag, JSON_OR_YAML, type Route, route } from "../route.ts";

const shown = { 200: { description: "The job.", schema: jobShowSchema } };

const list = route({
  method: "get",
  path: "/jobs",
  operationId: "listJobs",
  summary: "All jobs, by id.",
  tag: "jobs",
  query: { state: wordsParameter("Only jobs in this state.", JOB_STATES) },
  answers: { 200: { description: "Jobs.", schema: z.array(jobShowSchema) } },
  async handle({ context, query: { state } }) {
    const jobs = await listJobs(context);
    return answer(state ? jobs.filter((job) => state.includes(job.state)) : jobs);
  },
});

const add = route({
  method: "post",
  path: "/jobs",
  operationId: "addJob",
  summary: "Adds a job. A YAML body is kept as written, comments included.",
  tag: "jobs",
  query: {
    dryRun: flagParameter("Only say what would be understood."),
    paused: textParameter("Created paused, for this reason."),
  },
  body: { types: JSON_OR_YAML, schema: jobSchema, isRequired: true },
  answers: {
    200: { description: "What would be understood (dryRun).", schema: jobEchoSchema },
    201: { description: "Added.", schema: jobEchoSchema },
  },
  changesJobs: true,
  async handle({ context, query, body, bodyType }) {
    if (bodyType === "application/json") requireJson(body);
    const { document } = parseJobDocument(body, { file: "job", defaultId: "" });
    const id = document.id || idFrom(document);
    const echo = await addJob(
      context,
      { ...document, id },
      {
        isDryRun: query.dryRun ?? false,
        ...(query.paused !== undefined && { paused: query.paused }),
        ...(bodyType === "application/yaml" && { text: body }),
      },
    );
    if (query.dryRun) return answer(echo);
    const headers = { location: `/api/jobs/${encodeURIComponent(id)}`, ...etag(echo.version) };
    return { status: 201, document: echo, headers };
  },
});

/** As `job add` names a job that has no id. */
function idFrom({ name, run }: JobDocument): string {
  const script = run.script?.replace(/^.*\//, "").replace(/\.[a-z]+$/i, "");
  const prompt = typeof run.agent?.prompt === "string" ? run.agent.prompt.slice(0, 50) : undefined;
  return slugify(name ?? script ?? prompt ?? run.task?.executor ?? "job", "job");
}

const show = route({
  method: "get",
  path: "/jobs/{id}",
  operationId: "showJob",
  summary: "One job, by id or name.",
  tag: "jobs",
  answers: shown,
  async handle({ context, path: { id = "" } }) {
    const document = await showJob(context, id);
    return { status: 200, document, headers: etag(document.version) };
  },
});

const remove = route({
  method: "delete",
  path: "/jobs/{id}",
  operationId: "removeJob",
  summary: "Removes a job; its text is kept in jobs/.trash, its history stays.",
  tag: "jobs",
  query: { cancel: flagParameter("Also end its live runs.") },
  answers: { 200: { description: "Removed.", schema: jobRemovedSchema } },
  changesJobs: true,
  handle: async ({ context, path: { id = "" }, query }) =>
    answer(await removeJob(context, id, { isCancelling: query.cancel ?? false })),
});

const pauseSchema = z.strictObject({
  reason: z.optional(z.string()),
  until: z.optional(
    z
      .string()
      .check(
        z.refine(
          (value) => parseInstant(value) !== undefined,
          "is no instant with an offset; write 2026-12-24T18:00:00Z",
        ),
      ),
  ),
});

const pause = route({
  method: "post",
  path: "/jobs/{id}/pause",
  operationId: "pauseJob",
  summary: "No slot is due until it is resumed, or until an instant.",
  tag: "jobs",
  body: { types: ["application/json"], schema: pauseSchema, isRequired: false },
  answers: shown,
  changesJobs: true,
  async handle({ context, path: { id = "" }, body }) {
    const { reason, until } = parseBody(body, pauseSchema);
    const instant = until === undefined ? undefined : parseInstant(until);
    return answer(
      await pauseJob(context, id, {
        ...(reason !== undefined && { reason }),
        ...(instant !== undefined && { until: instant }),
      }),
    );
  },
});

const resume = route({
  method: "post",
  path: "/jobs/{id}/resume",
  operationId: "resumeJob",
  summary: "Ends a pause or a quarantine.",
  tag: "jobs",
  answers: shown,
  changesJobs: true,
  handle: async ({ context, path: { id = "" } }) => answer(await resumeJob(context, id)),
});

const run = route({
  method: "post",
  path: "/jobs/{id}/run",
  operationId: "runJob",
  summary: "Queues a run by hand; it uses up no slot (U2).",
  tag: "jobs",
  answers: { 202: { description: "Queued.", schema: runSchema } },
  async handle({ context, path: { id = "" } }) {
    const document = await queueRun(context, id);
    return { status: 202, document, headers: { location: `/api/runs/${document.id}` } };
  },
});

const next = route({
  method: "get",
  path: "/jobs/{id}/next",
  operationId: "nextSlots",
  summary: "The next slots.",
  tag: "jobs",
  query: { count: numberParameter("How many. Default 5.", { min: 1, max: 1_000 }) },
  answers: { 200: { description: "Slots.", schema: jobNextSchema } },
  handle: async ({ context, path: { id = "" }, query }) =>
    answer(await jobNext(context, id, query.count ?? 5)),
});

export const jobRoutes: readonly Route[] = [list, add, show, remove, pause, resume, run, next];
