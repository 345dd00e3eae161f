// What tasks can be done by.

import type { CommandSpec } from "../command.ts";

export const executorCommands: readonly CommandSpec[] = [
  {
    path: "executor list",
    summary: "what tasks can be done by: built in, in executors/, in config.yaml",
    load: async () => (await import("../executor.ts")).list,
  },
  {
    path: "executor show",
    args: "<name>",
    summary: "what one takes, gives back and needs",
    load: async () => (await import("../executor.ts")).show,
  },
  {
    path: "executor check",
    args: "[file]",
    summary: "read a file as if it lay in executors/, or all of them; exit 1 if something is wrong",
    load: async () => (await import("../executor.ts")).check,
  },
];
