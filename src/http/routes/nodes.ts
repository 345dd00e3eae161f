// Nodes, status, diagnosis; what a schedule means; what would become of a stretch of time.

import * as z from "zod/mini";
import { diagnose } from "../../app/doctor.ts";
import { parseOutages, planSlots } from "../../app/downtime-plan.ts";
import { listNodes } from "../../app/nodes.ts";
import { previewSchedule } from "../../app/preview.ts";
import { previewZone } from "../../app/preview-zone.ts";
import { readStatus } from "../../app/status.ts";
import { DAY } from "../../kernel/time.ts";
import { planSchema, scheduleSchema } from "../contract/jobs.ts";
import { diagnosisSchema, nodeSchema, statusSchema } from "../contract/nodes.ts";
import { instantParameter, numberParameter, textParameter, textsParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";
import { jobIdOf } from "./job-id.ts";

/** A simulation runs on the node's own thread; longer ones belong to the CLI's `plan`. */
const MAX_PLAN_DAYS = 31;

const nodes = route({
  method: "get",
  path: "/nodes",
  operationId: "listNodes",
  summary: "Nodes, newest start first.",
  tag: "nodes",
  answers: { 200: { description: "Nodes.", schema: z.array(nodeSchema) } },
  handle: async ({ context }) => answer(await listNodes(context)),
});

const status = route({
  method: "get",
  path: "/status",
  operationId: "status",
  summary: "One look at the home.",
  tag: "nodes",
  answers: { 200: { description: "The status.", schema: statusSchema } },
  handle: async ({ context }) => answer(await readStatus(context)),
});

const doctor = route({
  method: "get",
  path: "/doctor",
  operationId: "doctor",
  summary: "What is wrong, and what to do about it.",
  tag: "nodes",
  answers: { 200: { description: "The findings.", schema: diagnosisSchema } },
  handle: async ({ context }) => answer(await diagnose(context)),
});

const schedule = route({
  method: "get",
  path: "/schedule",
  operationId: "previewSchedule",
  summary: "What a schedule means and when it would fire, without a job.",
  tag: "time",
  query: {
    text: { ...textParameter("The schedule, e.g. weekdays at 18:00."), isRequired: true },
    timezone: textParameter("IANA zone. Default: the home's."),
    from: instantParameter("First slots after then. Default: now."),
    count: numberParameter("How many. Default 5.", { min: 1, max: 1_000 }),
  },
  answers: { 200: { description: "The meaning.", schema: scheduleSchema } },
  async handle({ context, now, query }) {
    const { text = "", timezone, from = now, count = 5 } = query;
    const zone =
      timezone === undefined
        ? context.zone
        : (await previewZone(context.home.paths.root, timezone, context.env)).zone;
    return answer(previewSchedule(text, { zone, from, count }));
  },
});

const plan = route({
  method: "get",
  path: "/plan",
  operationId: "plan",
  summary: "Every slot's fate over a stretch of time, with outages.",
  tag: "time",
  query: {
    days: numberParameter("How long. Default 1.", { min: 1, max: MAX_PLAN_DAYS }),
    from: instantParameter("From then on. Default: now."),
    down: textsParameter("An outage: 02:00..05:00 each day, or two instants A..B. Repeatable."),
    job: textParameter("Only this job, by id or name."),
  },
  answers: { 200: { description: "The plan.", schema: planSchema } },
  async handle({ context, now, query: { days = 1, from = now, down = [], job } }) {
    const until = from + days * DAY;
    const outages = down.flatMap((text) => parseOutages(text, { from, until, zone: context.zone }));
    const jobId = await jobIdOf(context, job);
    return answer(
      await planSlots(context, { from, until, down: outages, ...(jobId !== undefined && { jobId }) }),
    );
  },
});

export const nodeRoutes: readonly Route[] = [nodes, status, doctor, schedule, plan];
