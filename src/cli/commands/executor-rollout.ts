// What executors' versions are given, and what machines have for them.

import type { CommandSpec } from "../command.ts";

export const rolloutCommands: readonly CommandSpec[] = [
  {
    path: "executor rollout",
    args: "[name]",
    summary: "share an executor's tasks between two of its versions; without a name, list all rollouts",
    options: [
      ["--version <version>", "the version to roll out; with --traffic"],
      ["--traffic <percent>", "of 100 tasks, so many go to it"],
      ["--baseline <version>", "the version beside it (default: the one in use)"],
      ["--min-samples <n>", "judge it after so many attempts (default: 20)"],
      ["--max-more-failures <points>", "percentage points its failure rate may lie above (default: 10)"],
      ["--max-slowdown <factor>", "how many times as long it may take in the middle (default: 1.5)"],
      ["--status", "how it stands (default)"],
      ["--stop", "every task to the baseline"],
      ["--finish", "every task to the version"],
      ["--remove", "no rollout any more: the newest version does every task"],
    ],
    load: async () => (await import("../executor-rollout.ts")).rollout,
  },
];
