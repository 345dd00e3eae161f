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
  {
    path: "executor submit",
    args: "<name>",
    summary: "do one task now",
    options: [
      ["--param <name=value...>", "a param; may be repeated"],
      ["--params <json>", "all params, as JSON"],
      ["--queue <name>", "the queue it waits in"],
      ["--priority <n>", "higher goes first (default: the queue's)"],
      ["--version <version>", "this version instead of the preferred one"],
      ["--deliver <target...>", "where its result goes (default: local)"],
      ["--wait [duration]", "wait for its end, at most so long"],
      ["--here", "run it in this process, not on a node"],
    ],
    load: async () => (await import("../executor-submit.ts")).submit,
  },
];
