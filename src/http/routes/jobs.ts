// Jobs: list, show, add, change, remove, run. One use case a route.

import * as z from "zod/mini";
import { JOB_STATES } from "../../app/documents.ts";
import { jobText, readJobText, replaceJobText, updateJob, versionConflict } from "../../app/job-editing.ts";
import { applyJobs } from "../../app/job-transfer.ts";
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
import { Fault } from "../../kernel/errors.ts";
import { slugify } from "../../kernel/ids.ts";
import { parseInstant } from "../../kernel/time.ts";
import type { JobDocument } from "../../records/job.ts";
import { parseJobDocument } from "../../records/job-document.ts";
import { jobSchema } from "../../records/job-schema.ts";
import { knownKeysInCamelCase } from "../../records/snake-case.ts";
import { parseBody, requireJson } from "../bodies.ts";
import {
  jobEchoSchema,
  jobNextSchema,
  jobRemovedSchema,
  jobShowSchema,
  transferSchema,
} from "../contract/jobs.ts";
import { runSchema } from "../contract/runs.ts";
import { flagParameter, numberParameter, textParameter, wordsParameter } from "../parameters.ts";
import { answer, type MediaType, type Route, route } from "../route.ts";

const JSON_OR_YAML: readonly MediaType[] = ["application/json", "application/yaml"];
const IF_MATCH = {
  "If-Match": 'The version the change began with, e.g. "3". Another one is answered with 412.',
};
const shown = { 200: { description: "The job.", schema: jobShowSchema } };
const echoed = { 200: { description: "What was understood.", schema: jobEchoSchema } };

const etag = (version: number) => ({ etag: `"${version}"` });

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

const text = route({
  method: "get",
  path: "/jobs/{id}/text",
  operationId: "readJobText",
  summary: "The person's own text.",
  tag: "jobs",
  answers: { 200: { description: "YAML.", schema: z.string(), type: "application/yaml" } },
  async handle({ context, path: { id = "" } }) {
    const { view } = await readJobText(context, id);
    const headers = { "content-type": "application/yaml; charset=utf-8", ...etag(view.definition.version) };
    return new Response((await jobText(context, view.definition.jobId)) ?? "", { headers });
  },
});

const patch = route({
  method: "patch",
  path: "/jobs/{id}",
  operationId: "updateJob",
  summary: "Changes only the keys named; null removes one. Comments and order stay.",
  tag: "jobs",
  headers: IF_MATCH,
  body: {
    types: ["application/json"],
    schema: z.record(z.string(), z.unknown()),
    isRequired: true,
  },
  answers: echoed,
  changesJobs: true,
  async handle({ context, path: { id = "" }, body, header }) {
    const expectVersion = versionOf(header("if-match"));
    const named = knownKeysInCamelCase(parseBody(body, z.record(z.string(), z.unknown())), jobSchema);
    const changes = Object.entries(named as Record<string, unknown>);
    if (changes.length === 0)
      throw new Fault("input.usage", "Nothing to change was named.", { hint: "Name at least one key." });
    const patched = Object.fromEntries(changes.map(([key, value]) => [key, value ?? undefined]));
    const echo = await updateJob(context, id, patched as Partial<JobDocument>, {
      ...(expectVersion !== undefined && { expectVersion }),
    });
    return { status: 200, document: echo, headers: etag(echo.version) };
  },
});

const put = route({
  method: "put",
  path: "/jobs/{id}",
  operationId: "replaceJob",
  summary: "Replaces the whole text, as an editor does.",
  tag: "jobs",
  headers: IF_MATCH,
  body: { types: JSON_OR_YAML, schema: jobSchema, isRequired: true },
  answers: echoed,
  changesJobs: true,
  async handle({ context, path: { id = "" }, body, bodyType, header }) {
    if (bodyType === "application/json") requireJson(body);
    const expected = versionOf(header("if-match"));
    const { view, digest } = await readJobText(context, id);
    if (expected !== undefined && expected !== view.definition.version)
      throw versionConflict(view, `version ${expected}`);
    const echo = await replaceJobText(context, view, { text: body, digest });
    return { status: 200, document: echo, headers: etag(echo.version) };
  },
});

function versionOf(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === "*") return undefined;
  const version = /^\s*"?(\d{1,16})"?\s*$/.exec(ifMatch)?.[1];
  if (version !== undefined) return Number(version);
  throw new Fault("input.usage", `If-Match ${ifMatch} is no version.`, {
    hint: 'Send the ETag of the job, e.g. If-Match: "3".',
  });
}

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

const apply = route({
  method: "post",
  path: "/apply",
  operationId: "applyJobs",
  summary: "Creates or changes jobs from a YAML stream or a JSON array; one that is refused stops no other.",
  tag: "jobs",
  query: { dryRun: flagParameter("Only say what would be done.") },
  body: { types: JSON_OR_YAML, schema: z.union([jobSchema, z.array(jobSchema)]), isRequired: true },
  answers: {
    200: { description: "Every document was taken.", schema: z.array(transferSchema) },
    422: { description: "At least one was refused; the others were taken.", schema: z.array(transferSchema) },
  },
  changesJobs: true,
  async handle({ context, query, body, bodyType }) {
    if (bodyType === "application/json") requireJson(body);
    const document = await applyJobs(context, { text: body, file: "body", isDryRun: query.dryRun ?? false });
    return { status: document.some(({ action }) => action === "refused") ? 422 : 200, document };
  },
});

export const jobRoutes: readonly Route[] = [
  list,
  add,
  show,
  text,
  patch,
  put,
  remove,
  pause,
  resume,
  run,
  next,
  apply,
];
