// Incidents: list, show, acknowledge.

import * as z from "zod/mini";
import { acknowledgeIncident, listIncidents, showIncident } from "../../app/incidents.ts";
import { INCIDENT_STATES } from "../../records/incident.ts";
import { parseBody } from "../bodies.ts";
import { incidentSchema } from "../contract/incidents.ts";
import { numberParameter, textParameter, wordsParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";
import { jobIdOf } from "./job-id.ts";

const tag = "incidents";
const one = { 200: { description: "The incident.", schema: incidentSchema } };

const list = route({
  method: "get",
  path: "/incidents",
  operationId: "listIncidents",
  summary: "What is wrong: failures by cause, the newest first.",
  tag,
  query: {
    state: wordsParameter("Only incidents in this state. Default: those not resolved.", INCIDENT_STATES),
    job: textParameter("Only incidents of this job, by id or name."),
    limit: numberParameter("At most so many. Default 50.", { min: 1, max: 1_000 }),
    before: textParameter("The page after the incident with this id."),
  },
  answers: { 200: { description: "Incidents.", schema: z.array(incidentSchema) } },
  async handle({ context, query: { job, ...rest } }) {
    const jobId = await jobIdOf(context, job);
    return answer(await listIncidents(context, { ...rest, ...(jobId !== undefined && { job: jobId }) }));
  },
});

const show = route({
  method: "get",
  path: "/incidents/{id}",
  operationId: "showIncident",
  summary: "One incident.",
  tag,
  answers: one,
  handle: async ({ context, path: { id = "" } }) => answer(await showIncident(context, id)),
});

const ackSchema = z.strictObject({ note: z.optional(z.string()) });

const ack = route({
  method: "post",
  path: "/incidents/{id}/ack",
  operationId: "acknowledgeIncident",
  summary: "A person knows: no more alerts until it is over.",
  tag,
  body: { types: ["application/json"], schema: ackSchema, isRequired: false },
  answers: one,
  handle: async ({ context, path: { id = "" }, body }) =>
    answer(await acknowledgeIncident(context, id, parseBody(body, ackSchema))),
});

export const incidentRoutes: readonly Route[] = [list, show, ack];
