// `hook …`: webhooks that come in and set jobs off.

import type { CommandSpec } from "../command.ts";

export const hookCommands: readonly CommandSpec[] = [
  {
    path: "hook list",
    summary: "list the webhooks that come in: path, signature, the jobs they set off",
    load: async () => (await import("../hook.ts")).list,
  },
];
