// `run …`: what happened, and what is happening.

import type { CommandSpec, OptionSpec } from "../command.ts";

const PAGE: readonly OptionSpec[] = [
  ["--limit <n>", "how many at most", "50"],
  ["--before <id>", "only older ones than this id"],
];

export const runCommands: readonly CommandSpec[] = [
  {
    path: "run list",
    summary: "list runs, newest first",
    options: [
      ["--job <job>", "only this job's"],
      ["--state <states>", "only these states, comma-separated"],
      ["--since <time>", "only those created since an instant, or a duration ago"],
      ...PAGE,
    ],
    load: async () => (await import("../run-reading.ts")).list,
  },
  {
    path: "run show",
    args: "<run>",
    summary: "show one run whole",
    load: async () => (await import("../run-reading.ts")).show,
  },
  {
    path: "run logs",
    args: "<run>",
    summary: "print a run's live log",
    options: [["-f, --follow", "go on until the run has ended"]],
    load: async () => (await import("../run-logs.ts")).logs,
  },
  {
    path: "run tree",
    args: "<run>",
    summary: "show the tree a run belongs to",
    load: async () => (await import("../run-reading.ts")).tree,
  },
  {
    path: "run explain",
    args: "<run>",
    summary: "say in one sentence why a run is not running",
    load: async () => (await import("../run-reading.ts")).explain,
  },
  {
    path: "run cancel",
    args: "<run>",
    summary: "ask for a run's end",
    load: async () => (await import("../run-changing.ts")).cancel,
  },
  {
    path: "run retry",
    args: "<run>",
    summary: "run it again by hand",
    options: [
      ["--same-key", "keep its idempotency key"],
      ["--from <task>", "workflows: take over what came before this task"],
      ["--downstream", "with --from: also redo what succeeded after it"],
      ["--replay", "agents: from its recording (models.record), without a network, and compare"],
      ["--fork <n>", "agents: the same for the first n turns, then live"],
    ],
    load: async () => (await import("../run-changing.ts")).retry,
  },
  {
    path: "run resolve",
    args: "<run>",
    summary: "say what became of an unknown run, or approve what waits for it",
    options: [
      ["--as <word>", "succeeded, failed or rerun"],
      ["--note <text>", "why you know"],
    ],
    load: async () => (await import("../run-changing.ts")).resolve,
  },
  {
    path: "run audit",
    summary: "compare the slots that were due with the ledger; exit 1 if any is missing, doubled or early",
    options: [
      ["--since <time>", "from an instant, or a duration ago (default: the beginning)"],
      ["--job <job>", "only this job"],
    ],
    load: async () => (await import("../run-audit.ts")).audit,
  },
];

export const deliveryCommands: readonly CommandSpec[] = [
  {
    path: "delivery list",
    summary: "list deliveries, newest first",
    options: [
      ["--state <states>", "queued, sending, delivered, unknown, dead, suppressed"],
      ["--job <job>", "only this job's"],
      ["--run <run>", "only this run's"],
      ...PAGE,
    ],
    load: async () => (await import("../delivery.ts")).list,
  },
  {
    path: "delivery show",
    args: "<delivery>",
    summary: "show one delivery whole",
    load: async () => (await import("../delivery.ts")).show,
  },
  {
    path: "delivery retry",
    args: "<delivery>",
    summary: "send a dead or unknown one again",
    load: async () => (await import("../delivery.ts")).retry,
  },
  {
    path: "delivery dismiss",
    args: "<delivery>",
    summary: "let a dead or unknown one rest",
    load: async () => (await import("../delivery.ts")).dismiss,
  },
  {
    path: "delivery targets",
    summary: "list platforms: usable or why not, home, what an address looks like",
    load: async () => (await import("../delivery-targets.ts")).targets,
  },
  {
    path: "delivery test",
    args: "<target>",
    summary: "send one line now and show the receipt; nothing is recorded",
    load: async () => (await import("../delivery-targets.ts")).test,
  },
  {
    path: "delivery render",
    args: "<target> [file]",
    summary: "show the parts of a text exactly as they would be sent (- or no file: standard input)",
    load: async () => (await import("../delivery-targets.ts")).render,
  },
];
