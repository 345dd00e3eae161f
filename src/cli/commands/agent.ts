// Agents: work for a model, now.

import { AGENT_FIELDS } from "../agent-options.ts";
import type { CommandSpec } from "../command.ts";

export const agentCommands: readonly CommandSpec[] = [
  {
    path: "agent",
    args: "<prompt...>",
    summary: "one agent run now, in this folder, told as it goes; - reads the prompt from standard input",
    options: [
      ["--name <text>", "a name for people"],
      ["--workdir <folder>", "work in this folder (default: this one)"],
      ["--environment <name>", "where its commands run"],
      ["--env <NAME=VALUE...>", "a variable for its commands"],
      ["--deliver <target...>", "also send the answer there"],
      ["--origin <platform:chat[:thread]>", "where the request came from"],
      ["--script <file>", "run this script of the home's scripts/ folder first"],
      ["--idle-timeout <duration>", "end it after so long without activity; 0 = off"],
      ["--total-timeout <duration>", "end it after so long; 0 = off"],
      ...AGENT_FIELDS,
    ],
    changesJobs: true,
    load: async () => (await import("../agent.ts")).agent,
  },
];
