// `doctor` and `check-env`: what is wrong, and what to do about it. Looks, never mends.

import { statfs } from "node:fs/promises";
import { DEFAULT_PATH } from "../execute/command-env.ts";
import { findCommand } from "../execute/find-command.ts";
import { formatDuration, formatInstant, HOUR, type Instant, MINUTE, SECOND } from "../kernel/time.ts";
import type { Job } from "../records/job.ts";
import type { JobView } from "../records/ledger/slots.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Run } from "../records/run.ts";
import { backgroundFindings } from "./background/findings.ts";
import type { Context } from "./context.ts";
import { deliveryFindings } from "./delivery-findings.ts";
import type { Diagnosis, Finding } from "./diagnosis.ts";
import { rolloutFindings } from "./executors/rollouts.ts";
import { hookFindings } from "./hooks/hooks.ts";
import { isStuck, isUp } from "./nodes.ts";
import { triggerFindings } from "./triggers/findings.ts";
import { unusedFiles } from "./unused-files.ts";
import { openQuestions } from "./workflows/open-questions.ts";

/** Nodes whose clocks differ from the ledger's by more than this are found. */
const SKEW_MS = 5 * SECOND;
const OVERDUE_MS = 2 * MINUTE;
const LEAST_FREE_BYTES = 200_000_000;

/** The ledger's side: nodes, clocks, jobs, runs, deliveries. */
export async function diagnose(context: Context): Promise<Diagnosis> {
  const now = await context.ledger.now();
  const [nodes, views] = await Promise.all([context.ledger.nodes(), context.ledger.jobs()]);
  const up = nodes.filter((node) => isUp(node, context, now));
  const findings = [
    ...nodeFindings({ nodes, up, now }),
    ...clockFindings(context, up, now),
    ...views.flatMap((view) => jobFindings(view, { now, hasNode: up.length > 0 })),
    ...(await leftoverFindings(context)),
    ...(await neverFired(context, views)),
    ...(await homeFindings(context)),
    ...(await findingsOfAgents(context, views)),
    ...(await backgroundFindings(context)),
    ...(await hookFindings(context)),
    ...(await triggerFindings(context)),
    ...(await rolloutFindings(context)),
  ];
  const checked = [
    `${up.length} of ${nodes.length} known nodes`,
    `${views.length} jobs`,
    "clocks",
    "deliveries",
    "background processes",
    "home",
  ];
  return { isHealthy: findings.length === 0, findings, checked };
}

/** The machine's side (`check-env`): home, disk, Node; with `isAskingModels` also a tiny call to each model. */
export async function checkEnvironment(
  context: Context,
  { isAskingModels, signal }: { isAskingModels: boolean; signal: AbortSignal },
): Promise<Diagnosis> {
  const environments = await (await import("./environments-here.ts")).environmentFindings(context);
  const findings = [
    ...(await homeFindings(context)),
    ...(await interpreterFindings(context)),
    ...environments.findings,
  ];
  const checked = ["home permissions", "disk space", "store", "interpreters", ...environments.checked];
  if (isAskingModels) {
    const models = await (await import("./agent/check-models.ts")).checkModels(context, signal);
    findings.push(...models.findings);
    checked.push(...models.checked);
  }
  return { isHealthy: findings.length === 0, findings, checked };
}

/** Loaded only where there are agent jobs that nothing holds back. */
async function findingsOfAgents(context: Context, views: readonly JobView[]): Promise<Finding[]> {
  const jobs = views
    .filter(
      ({ cursor }) =>
        cursor.removedAt === undefined && cursor.suspensions.every(({ to }) => to !== undefined),
    )
    .flatMap(({ definition }) => jobOrNothing(context, definition))
    .filter(({ work }) => work.kind === "agent");
  if (jobs.length === 0) return [];
  return (await import("./agent/agent-findings.ts")).agentFindings(context, jobs);
}

/** One that cannot be read is held, and found as that. */
function jobOrNothing(context: Context, definition: JobView["definition"]): Job[] {
  try {
    return [context.parseJob(definition)];
  } catch {
    return [];
  }
}

function nodeFindings({
  nodes,
  up,
  now,
}: {
  nodes: readonly NodeRecord[];
  up: readonly NodeRecord[];
  now: Instant;
}): Finding[] {
  const findings: Finding[] = [];
  if (up.length === 0) {
    findings.push({
      code: "noNode",
      what: "No node is up, so nothing fires.",
      todo: "Start one: nightshift up.",
    });
  }
  for (const node of up) {
    const last = node.lastPassAt === undefined ? "never" : `${formatDuration(now - node.lastPassAt)} ago`;
    if (isStuck(node, now)) {
      const todo = "Look at its log; restart it if it does not recover. Another node takes over its work.";
      findings.push({
        code: "nodeStuck",
        what: `Node ${node.name} is alive but made its last pass ${last}.`,
        todo,
      });
    } else if (node.lastError !== undefined) {
      findings.push({
        code: "nodeFailing",
        what: `Node ${node.name}: its last pass failed: ${node.lastError}`,
        todo: "See nightshift logs.",
      });
    }
  }
  const lost = nodes.filter(
    (node) => node.stoppedAt === undefined && !up.includes(node) && now - node.lastSeenAt < 24 * HOUR,
  );
  if (up.length === 0 && lost.length > 0) {
    const what = `Node ${lost[0]?.name} ended without a farewell, last seen ${formatInstant(lost[0]?.lastSeenAt ?? now)}.`;
    findings.push({ code: "nodeLost", what, todo: "Start a node: it takes over what that one left." });
  }
  return findings;
}

function clockFindings(context: Context, up: readonly NodeRecord[], now: Instant): Finding[] {
  const own = context.clock.now() - now;
  const clocks = [
    ...up.map((node) => ({ name: `node ${node.name}`, offsetMs: node.clockOffsetMs })),
    { name: "this machine", offsetMs: own },
  ];
  const findings = clocks
    .filter(({ offsetMs }) => Math.abs(offsetMs) > SKEW_MS)
    .map(({ name, offsetMs }): Finding => {
      const direction = offsetMs > 0 ? "ahead of" : "behind";
      const what = `The clock of ${name} is ${formatDuration(Math.abs(offsetMs))} ${direction} the ledger's.`;
      return { code: "clockSkew", what, todo: "Synchronise the clocks (NTP)." };
    });
  return findings;
}

function jobFindings(view: JobView, { now, hasNode }: { now: Instant; hasNode: boolean }): Finding[] {
  const { cursor, definition } = view;
  const findings: Finding[] = [];
  for (const suspension of cursor.suspensions) {
    if (suspension.to !== undefined) continue;
    if (suspension.kind === "held") {
      const what = `Job "${definition.jobId}" is held: ${suspension.reason}`;
      findings.push({
        code: "jobHeld",
        what,
        todo: `Correct ${definition.source}; its slots are missed until then.`,
      });
    }
    if (suspension.kind === "quarantined") {
      const what = `Job "${definition.jobId}" is quarantined: ${suspension.reason}`;
      findings.push({
        code: "jobQuarantined",
        what,
        todo: `Find out why, then: nightshift job resume ${definition.jobId}.`,
      });
    }
  }
  if (cursor.dueAt !== undefined && now - cursor.dueAt > OVERDUE_MS) {
    const what = `Job "${definition.jobId}" has been due since ${formatInstant(cursor.dueAt)} and nobody has decided about it.`;
    findings.push({
      code: "slotOverdue",
      what,
      todo: hasNode ? "See nightshift logs; the node may be stuck." : "Start a node: nightshift up.",
    });
  }
  return findings;
}

async function leftoverFindings(context: Context): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const run of await context.ledger.runs({ state: ["unknown"], limit: 20 })) {
    const isResolved = (await context.ledger.resolutions(run.id)).some(
      (resolution) => resolution.as !== "early",
    );
    const isRepeated = (await context.ledger.attempts(run.dedupeKey)).some(
      (other) => other.attempt > run.attempt,
    );
    if (isResolved || isRepeated || (await isSettledByWorkflow(context, run))) continue;
    const todo = `Find out, then: nightshift run resolve ${run.id} --as succeeded|failed|rerun.`;
    findings.push({
      code: "runUnknown",
      what: `Nobody knows how run ${run.id}${run.jobId === undefined ? "" : ` of "${run.jobId}"`} ended: ${run.reason ?? ""}.`,
      todo,
    });
  }
  findings.push(...(await deliveryFindings(context)));
  for (const { source, why } of await unusedFiles(context)) {
    findings.push({
      code: "fileUnused",
      what: `${source} is not used: ${why}`,
      todo: "Correct it, or move it out of jobs/.",
    });
  }
  return findings;
}

/** A workflow settles what its journal does not ask about: by `onUnknown`, by going on, by its end. */
async function isSettledByWorkflow(context: Context, { id, parentId }: Run): Promise<boolean> {
  const parent = parentId === undefined ? undefined : await context.ledger.run(parentId);
  if (!parent || "ambiguous" in parent || parent.kind !== "workflow") return false;
  return !(await openQuestions(context, parent.id)).some((question) => question.id === id);
}

async function homeFindings(context: Context): Promise<Finding[]> {
  const findings: Finding[] = context.home.warnings.map((what) => ({
    code: "homePermissions",
    what: what.replace(/; run: .*$/, "."),
    todo: what.replace(/^.*; run: /, ""),
  }));
  const disk = await statfs(context.home.paths.root).catch(() => undefined);
  const freeBytes = disk ? disk.bavail * disk.bsize : Number.POSITIVE_INFINITY;
  if (freeBytes < LEAST_FREE_BYTES) {
    const what = `Only ${Math.floor(freeBytes / 1_000_000)} MB are free where the home lies.`;
    findings.push({ code: "diskSpace", what, todo: "Make room: a full disk stops the ledger." });
  }
  return findings;
}

/** Jobs whose every slot so far was skipped or missed: somebody waits for them in vain (hermes#113603). */
async function neverFired(context: Context, views: readonly JobView[]): Promise<Finding[]> {
  const suspects = views
    .filter(({ cursor }) => cursor.startedSlots === 0 && cursor.removedAt === undefined)
    .slice(0, 200);
  const findings: Finding[] = [];
  for (const { definition } of suspects) {
    const { jobId } = definition;
    const [newest] = await context.ledger.runs({ jobId, limit: 1 });
    if (!newest || !["skipped", "missed", "blocked"].includes(newest.state)) continue;
    const what = `Job "${jobId}" was due and has never fired; its newest slot is ${newest.state} (${newest.reason ?? "no reason"}).`;
    findings.push({ code: "jobNeverFired", what, todo: `See nightshift run list --job ${jobId}.` });
  }
  return findings;
}

/** L10, S1: what this machine lacks, or does not protect against. */
async function interpreterFindings(context: Context): Promise<Finding[]> {
  const path = context.scriptPlace.nodeEnv.PATH || DEFAULT_PATH;
  const findings: Finding[] = [];
  for (const [command, ending] of [
    ["bash", ".sh, .bash"],
    ["python3", ".py"],
  ] as const) {
    if ((await findCommand(command, path)).kind === "found") continue;
    findings.push({
      code: "interpreterMissing",
      what: `There is no ${command} on PATH.`,
      todo: `Install it to run scripts that end in ${ending}.`,
    });
  }
  return findings;
}
