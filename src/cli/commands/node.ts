// Nodes, time and health.

import type { CommandSpec } from "../command.ts";

export const nodeCommands: readonly CommandSpec[] = [
  {
    path: "up",
    summary: "run a node: fire jobs, run them, deliver results, serve HTTP",
    options: [
      ["--port <n>", "HTTP port (default: 4747, else a free one)"],
      ["--bind <address>", "HTTP address (default: 127.0.0.1)"],
      ["--insecure", "serve HTTP without TLS beyond loopback"],
      ["--no-http", "serve no HTTP"],
      ["--config <file>", "use this config instead of the home's"],
      ["--validate-config", "only check the config"],
      ["--grace <duration>", "how long live runs may go on after Ctrl-C", "30s"],
      ["--seed-samples", "on a home without jobs, add three sample jobs"],
    ],
    load: async () => (await import("../up.ts")).up,
  },
  {
    path: "status",
    summary: "one look at a home",
    readsJobFiles: true,
    load: async () => (await import("../status.ts")).status,
  },
  {
    path: "doctor",
    summary: "find what is wrong; exit 1 on a finding",
    readsJobFiles: true,
    load: async () => (await import("../doctor.ts")).doctor,
  },
  {
    path: "check-env",
    summary: "find what this machine lacks; exit 1 on a finding",
    readsJobFiles: true,
    options: [["--models", "also ask each model one tiny question"]],
    load: async () => (await import("../doctor.ts")).checkEnv,
  },
  {
    path: "check-config",
    args: "[file]",
    summary: "check config.yaml",
    load: async () => (await import("../check-config.ts")).checkConfig,
  },
  {
    path: "tick",
    summary: "one pass: fire what is due, run it, deliver, exit",
    load: async () => (await import("../tick.ts")).tick,
  },
  {
    path: "mcp",
    summary: "serve cronjob, agent, runs and process to another agent over standard input and output",
    changesJobs: true,
    readsJobFiles: true,
    load: async () => (await import("../mcp.ts")).mcp,
  },
  {
    path: "node list",
    summary: "list nodes, newest start first",
    load: async () => (await import("../status.ts")).nodeList,
  },
  {
    path: "metrics",
    args: "[dump]",
    summary:
      "what was counted: runs, queues, executors, model calls; dump = what the store and the nodes hold",
    options: [
      ["--since <time>", "tasks and model calls since an instant, or a duration ago (default: 30 days)"],
      ["--prometheus", "in Prometheus' text form"],
    ],
    load: async () => (await import("../metrics.ts")).metrics,
  },
  {
    path: "logs",
    summary: "print the node's own log",
    options: [
      ["--tail <n>", "the last lines", "50"],
      ["--level <level>", "debug, info, warn or error and above"],
      ["-f, --follow", "go on"],
    ],
    load: async () => (await import("../logs.ts")).logs,
  },
  {
    path: "schedule",
    args: "<text...>",
    summary: "say what a schedule means and when it fires",
    options: [
      ["--timezone <zone>", "IANA zone (default: the config's, else the system's)"],
      ["--from <instant>", "count from here (default: now)"],
      ["--count <n>", "how many slots", "5"],
    ],
    load: async () => (await import("../schedule.ts")).schedule,
  },
  {
    path: "guard",
    args: "[file]",
    summary: "say what the prompt guard thinks of a text; exit 1 if it would be blocked",
    options: [["--loose", "judge it as a skill or data, not as a prompt"]],
    load: async () => (await import("../guard.ts")).guard,
  },
  {
    path: "plan",
    summary: "every slot's fate over the next days, with outages",
    options: [
      ["--days <n>", "how many days", "1"],
      ["--from <instant>", "begin here (default: now)"],
      ["--down <stretch...>", "no node is up: 02:00..05:00 each day, or two instants"],
      ["--job <job>", "only this job"],
    ],
    readsJobFiles: true,
    load: async () => (await import("../plan.ts")).plan,
  },
];
