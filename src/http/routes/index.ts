// Every route below `/api`.

import type { Route } from "../route.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventRoute } from "./events.ts";
import { executorRoutes } from "./executors.ts";
import { incidentRoutes } from "./incidents.ts";
import { jobTextRoutes } from "./job-texts.ts";
import { jobRoutes } from "./jobs.ts";
import { metricsRoutes } from "./metrics.ts";
import { nodeRoutes } from "./nodes.ts";
import { resourceRoutes } from "./resources.ts";
import { rolloutRoutes } from "./rollouts.ts";
import { runRoutes } from "./runs.ts";
import { workflowRoutes } from "./workflows.ts";

export const routes: readonly Route[] = [
  ...jobRoutes,
  ...jobTextRoutes,
  ...runRoutes,
  ...workflowRoutes,
  ...deliveryRoutes,
  ...incidentRoutes,
  ...executorRoutes,
  ...rolloutRoutes,
  ...nodeRoutes,
  ...metricsRoutes,
  ...resourceRoutes,
  eventRoute,
];
