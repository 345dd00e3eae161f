// What an agent's run is done with: the opened home, how commands are run here, and what this process says of itself.

import type { ScriptDeps } from "../../execute/run-script.ts";
import type { Context } from "../context.ts";
import type { AgentOptions } from "../node-options.ts";

export interface AgentDeps extends AgentOptions {
  context: Context;
  commands: ScriptDeps;
}
