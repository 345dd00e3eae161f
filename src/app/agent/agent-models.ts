// Which models an agent job asks: its own, the config's, or what runs on this machine where nothing is configured.

import { chooseCheapModels, chooseModels, type ModelChain } from "../../agent/models/choose-model.ts";
import { findLocalModels } from "../../agent/models/find-local-models.ts";
import { requirePriced } from "../../agent/models/price.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Context } from "../context.ts";

export interface AgentModels {
  primary: ModelChain;
  /** For summaries. */
  auxiliary: ModelChain;
}

/**
 * Throws `model.unknown`, `model.key-missing`, `model.host-refused`, and `model.unpriced` under a money budget. Looks for
 * a local server only where config.yaml names no model and the job spells none out.
 */
export async function agentModels(
  context: Pick<Context, "config" | "variable" | "clock">,
  agent: Pick<AgentWork, "model" | "reasoningEffort" | "budget">,
  signal: AbortSignal,
): Promise<AgentModels> {
  const { models } = context.config;
  const isNothingNamed = Object.keys(models.named).length === 0 && typeof agent.model !== "object";
  const choice = {
    models,
    asked: agent.model,
    reasoningEffort: agent.reasoningEffort,
    variable: (name: string) => context.variable(name),
    ...(isNothingNamed && { local: await findLocalModels({ fetch, clock: context.clock }, signal) }),
  };
  const primary = chooseModels(choice);
  requirePriced(primary, agent.budget);
  return { primary, auxiliary: chooseCheapModels(choice) };
}
