// What tasks can be done by.

import * as z from "zod/mini";
import { listExecutors, showExecutor } from "../../app/executors/executor-documents.ts";
import { executorListSchema, executorSchema } from "../contract/executors.ts";
import { answer, type Route, route } from "../route.ts";

const list = route({
  method: "get",
  path: "/executors",
  operationId: "listExecutors",
  summary: "Everything that tasks can be done by, and what could not be registered.",
  tag: "executors",
  answers: { 200: { description: "Executors by name, newest version first.", schema: executorListSchema } },
  handle: async ({ context }) => answer(await listExecutors(context)),
});

const show = route({
  method: "get",
  path: "/executors/{id}",
  operationId: "showExecutor",
  summary: "Every registration of one name, the preferred one first.",
  tag: "executors",
  answers: { 200: { description: "Its registrations.", schema: z.array(executorSchema) } },
  handle: async ({ context, path }) => answer(await showExecutor(context, path.id ?? "")),
});

export const executorRoutes: readonly Route[] = [list, show];
