// What looking at an environment takes from a home.

import type { checkEnvironment } from "../execute/environments/index.ts";
import type { Context } from "./context.ts";

/** The node's environment, its clock, and the variables of the home's `.env`. */
export function checkDepsOf({
  env,
  clock,
  variable,
}: Pick<Context, "env" | "clock" | "variable">): Parameters<typeof checkEnvironment>[0] {
  return { nodeEnv: env, clock, variable };
}
