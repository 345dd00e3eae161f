// Deliveries: list, show, retry, dismiss.

import * as z from "zod/mini";
import { dismissDelivery, listDeliveries, retryDelivery, showDelivery } from "../../app/deliveries.ts";
import { DELIVERY_STATES } from "../../records/delivery.ts";
import { deliverySchema } from "../contract/runs.ts";
import { numberParameter, textParameter, wordsParameter } from "../parameters.ts";
import { answer, type Route, route } from "../route.ts";
import { jobIdOf } from "./job-id.ts";

const tag = "deliveries";
const one = { 200: { description: "The delivery.", schema: deliverySchema } };

const list = route({
  method: "get",
  path: "/deliveries",
  operationId: "listDeliveries",
  summary: "Deliveries, newest first.",
  tag,
  query: {
    state: wordsParameter("Only deliveries in this state.", DELIVERY_STATES),
    job: textParameter("Only deliveries of this job, by id or name."),
    run: textParameter("Only deliveries of this run."),
    limit: numberParameter("At most so many. Default 50.", { min: 1, max: 1_000 }),
    before: textParameter("The page after the delivery with this id."),
  },
  answers: { 200: { description: "Deliveries.", schema: z.array(deliverySchema) } },
  async handle({ context, query: { job, ...rest } }) {
    const jobId = await jobIdOf(context, job);
    return answer(await listDeliveries(context, { ...rest, ...(jobId !== undefined && { job: jobId }) }));
  },
});

const show = route({
  method: "get",
  path: "/deliveries/{id}",
  operationId: "showDelivery",
  summary: "One delivery with its text and receipt.",
  tag,
  answers: one,
  handle: async ({ context, path: { id = "" } }) => answer(await showDelivery(context, id)),
});

const retry = route({
  method: "post",
  path: "/deliveries/{id}/retry",
  operationId: "retryDelivery",
  summary: "Sends a dead or unknown one again, on a person's word.",
  tag,
  answers: one,
  handle: async ({ context, path: { id = "" } }) => answer(await retryDelivery(context, id)),
});

const dismiss = route({
  method: "post",
  path: "/deliveries/{id}/dismiss",
  operationId: "dismissDelivery",
  summary: "Lets a dead or unknown one rest, on a person's word.",
  tag,
  answers: one,
  handle: async ({ context, path: { id = "" } }) => answer(await dismissDelivery(context, id)),
});

export const deliveryRoutes: readonly Route[] = [list, show, retry, dismiss];
