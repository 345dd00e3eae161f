// Background processes of the home.

import type { CommandSpec } from "../command.ts";

export const processCommands: readonly CommandSpec[] = [
  {
    path: "process start",
    args: "<command>",
    summary: "start a shell command that outlives this one, and the node",
    options: [
      ["--cwd <folder>", "where it starts (default: here)"],
      ["--notify <target...>", "send a message when it has ended"],
      ["--watch <text...>", "also tell --notify of lines that contain this"],
      ["--watch-regex <pattern...>", "also tell --notify of lines that match this"],
      ["--heartbeat <duration>", "also tell --notify what it has printed, so often (at least 1m)"],
    ],
    changesJobs: true,
    load: async () => (await import("../process.ts")).start,
  },
  {
    path: "process list",
    summary: "list background processes, newest first",
    load: async () => (await import("../process.ts")).list,
  },
  {
    path: "process poll",
    args: "<process>",
    summary: "its state and newest output; changes nothing",
    load: async () => (await import("../process.ts")).poll,
  },
  {
    path: "process log",
    args: "<process>",
    summary: "print lines of its output",
    options: [
      ["--lines <n>", "how many", "200"],
      ["--offset <n>", "begin at this line of what is kept (default: the last ones)"],
    ],
    load: async () => (await import("../process.ts")).log,
  },
  {
    path: "process wait",
    args: "<process>",
    summary: "wait until it has ended; exits as it did",
    options: [["--timeout <duration>", "at most so long, and never above 3m", "3m"]],
    load: async () => (await import("../process.ts")).wait,
  },
  {
    path: "process write",
    args: "<process> [text]",
    summary: "write a line to its standard input; without a text what comes on ours",
    options: [["--no-newline", "without the newline after the text"]],
    changesJobs: true,
    load: async () => (await import("../process.ts")).write,
  },
  {
    path: "process close",
    args: "<process>",
    summary: "end its standard input",
    changesJobs: true,
    load: async () => (await import("../process.ts")).close,
  },
  {
    path: "process kill",
    args: "<process>",
    summary: "end it and everything it started",
    changesJobs: true,
    load: async () => (await import("../process.ts")).kill,
  },
  {
    path: "process handoff",
    args: "<process>",
    summary: "give it to the home: its run's end no longer ends it",
    changesJobs: true,
    load: async () => (await import("../process.ts")).handoff,
  },
];
