// What machines have, what is free, who holds the rest.

import { readResources } from "../../app/resources/resource-documents.ts";
import { resourcesSchema } from "../contract/resources.ts";
import { answer, type Route, route } from "../route.ts";

const resources = route({
  method: "get",
  path: "/resources",
  operationId: "showResources",
  summary: "What each machine has, what is free, and which runs hold the rest.",
  tag: "nodes",
  answers: { 200: { description: "Machines, and tasks that wait for them.", schema: resourcesSchema } },
  handle: async ({ context }) => answer(await readResources(context)),
});

export const resourceRoutes: readonly Route[] = [resources];
