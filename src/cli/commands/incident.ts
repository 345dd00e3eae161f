// `incident …`: what is wrong, as one thing with one cause.

import type { CommandSpec } from "../command.ts";

export const incidentCommands: readonly CommandSpec[] = [
  {
    path: "incident list",
    summary: "list what is wrong: failures by cause, the newest first",
    options: [
      ["--state <states>", "open, acknowledged, resolved (default: open and acknowledged)"],
      ["--all", "in any state"],
      ["--job <job>", "only this job's"],
      ["--limit <n>", "how many at most", "50"],
      ["--before <id>", "only those that failed last before this incident did"],
    ],
    load: async () => (await import("../incident.ts")).list,
  },
  {
    path: "incident show",
    args: "<incident>",
    summary: "show one incident whole",
    load: async () => (await import("../incident.ts")).show,
  },
  {
    path: "incident ack",
    args: "<incident>",
    summary: "say that you know: no more alerts until it is over",
    options: [["--note <text>", "why, or what is done about it"]],
    load: async () => (await import("../incident.ts")).ack,
  },
];
