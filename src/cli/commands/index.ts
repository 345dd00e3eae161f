// Every command, in the order of `--help`. A new one is one line of a table and one file.

import type { CommandSpec } from "../command.ts";
import { agentCommands } from "./agent.ts";
import { environmentCommands } from "./environment.ts";
import { executorCommands } from "./executor.ts";
import { rolloutCommands } from "./executor-rollout.ts";
import { hookCommands } from "./hook.ts";
import { incidentCommands } from "./incident.ts";
import { jobCommands } from "./job.ts";
import { nodeCommands } from "./node.ts";
import { orchestratorCommands } from "./orchestrator.ts";
import { processCommands } from "./process.ts";
import { deliveryCommands, runCommands } from "./run.ts";
import { workflowCommands } from "./workflow.ts";

export const commands: readonly CommandSpec[] = [
  ...nodeCommands,
  ...agentCommands,
  ...jobCommands,
  ...runCommands,
  ...workflowCommands,
  ...deliveryCommands,
  ...incidentCommands,
  ...hookCommands,
  ...processCommands,
  ...environmentCommands,
  ...executorCommands,
  ...rolloutCommands,
  ...orchestratorCommands,
];
