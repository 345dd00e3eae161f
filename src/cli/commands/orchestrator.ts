// What executors need of machines.

import type { CommandSpec } from "../command.ts";

export const orchestratorCommands: readonly CommandSpec[] = [
  {
    path: "executor resources",
    summary: "what each machine has, what is free, and which runs hold the rest",
    load: async () => (await import("../executor-resources.ts")).resources,
  },
];
