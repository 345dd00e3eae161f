// The places where commands run.

import type { CommandSpec } from "../command.ts";

export const environmentCommands: readonly CommandSpec[] = [
  {
    path: "environment list",
    summary: "places where commands can run: local, those in config.yaml, those of jobs",
    readsJobFiles: true,
    load: async () => (await import("../environment.ts")).list,
  },
  {
    path: "environment check",
    args: "<environment>",
    summary: "whether one can be used here, or why not; exit 1 if not",
    load: async () => (await import("../environment.ts")).check,
  },
  {
    path: "environment exec",
    args: "<environment> <command...>",
    summary: "run one command there, from this folder; its exit code is passed on",
    options: [["--timeout <duration>", "end it after so long (exit 124); default: never"]],
    changesJobs: true,
    load: async () => (await import("../environment.ts")).exec,
  },
  {
    path: "environment reap",
    summary: "remove the containers of nodes that died",
    changesJobs: true,
    load: async () => (await import("../environment.ts")).reap,
  },
];
