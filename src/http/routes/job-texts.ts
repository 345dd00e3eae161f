// A job's text: read it, change keys of it, replace it whole, or many at once. Comments and order are the person's (law 9).

import * as z from "zod/mini";
import { jobText, readJobText, replaceJobText, updateJob, versionConflict } from "../../app/job-editing.ts";
import { applyJobs } from "../../app/job-transfer.ts";
import { Fault } from "../../kernel/errors.ts";
import type { JobDocument } from "../../records/job.ts";
import { jobSchema } from "../../records/job-schema.ts";
import { knownKeysInCamelCase } from "../../records/snake-case.ts";
import { parseBody, requireJson } from "../bodies.ts";
import { jobEchoSchema, transferSchema } from "../contract/jobs.ts";
import { flagParameter } from "../parameters.ts";
import { etag, JSON_OR_YAML, type Route, route } from "../route.ts";

const IF_MATCH = {
  "If-Match": 'The version the change began with, e.g. "3". Another one is answered with 412.',
};
const echoed = { 200: { description: "What was understood.", schema: jobEchoSchema } };

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

export const jobTextRoutes: readonly Route[] = [text, patch, put, apply];
