// `run list | show | tree | explain`.

import type { RunDocument } from "../app/documents.ts";
import { explain as explainUseCase } from "../app/explain-run.ts";
import type { RunTimes } from "../app/run-times.ts";
import { listRuns, type RunTreeDocument, runTree, showRun, workflowNamesOf } from "../app/runs.ts";
import type { RunShowDocument } from "../app/turn-documents.ts";
import { RUN_STATES } from "../records/run.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { describeOutcome, duration, instant, latenessOf } from "./format.ts";
import { print, table } from "./io.ts";
import { idOption, instantOption, numberOption, textOption, wordsOption } from "./options.ts";
import { turnLines, usageText } from "./turn-lines.ts";

export const list: RunCommand = async ({ options, io, open }) => {
  const limit = numberOption(options, "limit", { min: 1, max: 1_000 });
  const state = wordsOption(options, "state", RUN_STATES);
  const context = await open();
  const since = instantOption(options, "since", context.clock.now());
  const job = textOption(options, "job");
  const before = idOption(options, "before");
  const runs = await listRuns(context, {
    ...(job !== undefined && { job: (await context.findJob(job)).definition.jobId }),
    ...(state && { state }),
    ...(since !== undefined && { since }),
    ...(before !== undefined && { before }),
    ...(limit !== undefined && { limit }),
  });
  const workflows = io.isJson ? new Map<string, string>() : await workflowNamesOf(context, runs);
  const rows = runs.map((run) => row(run, workflows.get(run.parentId ?? "")));
  print(io, runs, () => (runs.length === 0 ? "No runs." : table(HEADER, rows)));
  return EXIT.ok;
};

const HEADER = ["RUN", "JOB", "SLOT", "STATE", "STARTED", "LATE", "TOOK"];

/** `workflow`: what the one is called that it is a task of. */
function row(run: RunDocument, workflow: string | undefined): string[] {
  const slot = run.slot ?? run.trigger;
  const range = run.slotCount > 1 ? ` … ${run.slotTo} (${run.slotCount} slots)` : "";
  const state = run.reason ? `${run.state} (${run.reason})` : run.state;
  const task = run.unit !== null && workflow !== undefined ? `${workflow}/${run.unit}` : run.unit;
  return [
    run.id,
    task ?? run.jobId ?? run.work ?? "–",
    slot + range,
    state,
    instant(run.startedAt),
    latenessOf(run),
    duration(run.durationMs),
  ];
}

export const show: RunCommand = async ({ args: [id = ""], io, open }) => {
  const run = await showRun(await open(), id);
  print(io, run, () => runText(run));
  return run.state === "unknown" && run.resolutions.length === 0 ? EXIT.unknown : EXIT.ok;
};

function runText(run: RunShowDocument): string {
  const lines: [string, string | null][] = [
    ["run", run.id],
    ["job", run.jobId],
    [
      "slot",
      run.slot && run.slotCount > 1 ? `${run.slot} … ${run.slotTo}, ${run.slotCount} slots` : run.slot,
    ],
    ["task", run.unit && `${run.unit} of ${run.parentId}`],
    ["queue", run.queue],
    ["trigger", run.attempt > 1 ? `${run.trigger}, attempt ${run.attempt}` : run.trigger],
    ["event", run.event && `${run.event.key} at ${run.event.receivedAt}`],
    ["state", run.reason ? `${run.state} (${run.reason})` : run.state],
    ["created", run.createdAt],
    ["waits", run.state === "waiting" || run.state === "queued" ? `until ${run.readyAt}` : null],
    ["started", run.startedAt && `${run.startedAt}, ${latenessOf(run)}`],
    ["finished", run.finishedAt && `${run.finishedAt}, after ${duration(run.durationMs)}`],
    ["times", timesText(run.times)],
    ["node", run.owner],
    ["outcome", run.outcome && describeOutcome(run.outcome)],
    ["usage", usageText(run.usage)],
    ["output", run.outputFile],
    ["kept", run.trajectoryFile],
    ...run.resolutions.map((one): [string, string] => [
      "resolved",
      `as ${one.as} by ${one.by} at ${one.at}${one.note ? `: ${one.note}` : ""}`,
    ]),
    ...run.deliveries.map((one): [string, string] => [
      "delivery",
      `${one.kind} → ${one.target}: ${one.state}${one.error ? ` (${one.error})` : ""}`,
    ]),
  ];
  const known = lines.filter((line): line is [string, string] => line[1] !== null && line[1] !== "");
  const facts = known.map(([name, value]) => `${name.padEnd(9)} ${value}`);
  const turns = turnLines(run.turns);
  return [...facts, ...(turns.length > 0 ? ["", ...turns] : [])].join("\n");
}

/** `queued 3 ms · waited for resources 1.2 s · claimed 2 ms · ran 31 ms`. */
function timesText(times: RunTimes): string {
  const parts: [string, number | null][] = [
    ["delayed", times.delayedMs || null],
    ["queued", times.queuedMs],
    ["waited for resources", times.waitedForResourcesMs || null],
    ["claimed", times.claimedMs],
    ["ran", times.ranMs],
  ];
  return parts.flatMap(([name, ms]) => (ms === null ? [] : [`${name} ${duration(ms)}`])).join(" · ");
}

export const tree: RunCommand = async ({ args: [id = ""], io, open }) => {
  const root = await runTree(await open(), id);
  print(io, root, () => treeLines(root, "", "").join("\n"));
  return EXIT.ok;
};

function treeLines(node: RunTreeDocument, own: string, below: string): string[] {
  const name = node.unit
    ? taskName(node, node.unit)
    : [node.jobId ?? node.work, node.slot ?? node.trigger].filter(Boolean).join(" ");
  const line = `${own}${node.id}  ${name}  ${node.state}${node.reason ? ` (${node.reason})` : ""}  ${duration(node.durationMs)}`;
  const indent = `${below}${node.children.length > 0 ? "│" : " "}   `;
  return [
    line.trimEnd(),
    ...turnLines(node.turns).map((turn) => `${indent}${turn}`),
    ...node.children.flatMap((child, index) => {
      const isLast = index === node.children.length - 1;
      return treeLines(child, `${below}${isLast ? "└─ " : "├─ "}`, `${below}${isLast ? "   " : "│  "}`);
    }),
  ];
}

/** Its executor is named where that says something: a fallback did the work, or another one of several. */
function taskName({ work, attempt }: RunTreeDocument, unit: string): string {
  const isPlain = work === null || work === unit || work === "shell_exec" || work === "script";
  const executor = isPlain ? "" : ` (${work})`;
  return `${unit}${executor}${attempt > 1 ? `, attempt ${attempt}` : ""}`;
}

export const explain: RunCommand = async ({ args: [id = ""], io, open }) => {
  const explanation = await explainUseCase(await open(), id);
  print(io, explanation, () => explanation.sentence);
  return EXIT.ok;
};
