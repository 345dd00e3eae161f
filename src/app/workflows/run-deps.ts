// What a live workflow is given by its node: where attempts run, what they wait for, and how people are asked.

import { rowsOf } from "../../deliver/outbox-rows.ts";
import { LOCAL } from "../../deliver/route.ts";
import { whyImpossible } from "../../orchestrate/check/resource-issues.ts";
import type { AdmitSettings } from "../../orchestrate/queues/admit.ts";
import { queueOf } from "../../orchestrate/queues/admit.ts";
import { eligible, needsOf } from "../../orchestrate/resources/choose.ts";
import type { TargetSelector } from "../../records/delivery.ts";
import type { Executor } from "../../records/executor.ts";
import type { Job } from "../../records/job.ts";
import { NO_RESOURCES } from "../../records/resources.ts";
import type { Admission } from "../../records/run.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Resources, Task } from "../../records/workflow.ts";
import type { Context } from "../context.ts";
import type { RolloutWatch } from "../executors/rollout-watch.ts";
import type { WorkInput } from "../work.ts";
import type { Question, RunDeps } from "./live-workflow.ts";
import type { openPins, PinnedVersions } from "./pinned-versions.ts";
import { unitKey } from "./task-rows.ts";
import type { PlannedWorkflow } from "./workflow-source.ts";

export interface NodeForWorkflows {
  context: Context;
  /** Aborts when waiting for the store must end. */
  giveUp(): AbortSignal;
  settings(): AdmitSettings;
  /** How many further tasks may run here. */
  taskCapacity(): number;
  offlineExecutors(): ReadonlySet<string>;
  rollouts: Pick<RolloutWatch, "isEmpty" | "isShared" | "prepare" | "versionFor">;
  call: RunDeps["call"];
}

export function makeRunDeps(
  node: NodeForWorkflows,
  planned: PlannedWorkflow & { machines: readonly Resources[] },
  { input, ctx, pins }: { input: WorkInput; ctx: RunContext; pins: Awaited<ReturnType<typeof openPins>> },
): RunDeps {
  const { context, giveUp, offlineExecutors, call } = node;
  const pinned = pins(planned.executors);
  return {
    ...{ context, giveUp: giveUp(), offlineExecutors, call },
    whyImpossible: (attempt) => impossibility(planned, pinned, attempt),
    inlineExecutor: (attempt) => inlineExecutor(node, { planned, pinned }, attempt),
    admissionFor: ({ task, executor, key }) => admissionFor(node, pinned, { task, executor, key }),
    ask: (question) =>
      rowsOf(
        {
          ...{ kind: "alert", runId: ctx.run.id, jobId: ctx.run.jobId },
          selectors: whomToAsk(input.job, question),
          subject: `${unitKey(ctx.run.id, question.unit)}#${question.attempt}`,
          text: questionText(planned.workflow.name, question),
        },
        context.rowsFor(input.job.origin),
      ),
  };
}

/** Whoever gets its results decides, whoever gets its alarms judges; a question that nobody hears would wait for ever. */
function whomToAsk({ deliver, onFailure }: Job, { about }: Question): readonly TargetSelector[] {
  const inOrder = about === "approval" ? [deliver, onFailure] : [onFailure, deliver];
  return inOrder.find((targets) => targets.length > 0) ?? [{ kind: "target", target: LOCAL }];
}

function questionText(workflow: string, { about, unit, runId, message }: Question): string {
  const say = (as: string) => `nightshift run resolve ${runId} --as ${as}`;
  if (about === "approval")
    return `${workflow} waits for an approval (${unit}): ${message}\n\nApprove: ${say("succeeded")}\nRefuse: ${say("failed")}`;
  return `${workflow} waits for your word on ${unit}: ${message}.\n\nIt was done: ${say("succeeded")}\nIt was not, and shall count as failed: ${say("failed")}\nDo it again: ${say("rerun")}`;
}

/** Only where nothing else has a say: no queue, no resources, no effects, no rollout that counts, and room on this node. */
function inlineExecutor(
  node: NodeForWorkflows,
  { planned: { executors }, pinned }: { planned: PlannedWorkflow; pinned: PinnedVersions },
  { task, name, running, key }: { task: Task; name: string; running: number; key: string },
): Executor | undefined {
  const isFree = task.queue === undefined && task.priority === undefined && !asksForResources(task.resources);
  if (!isFree || task.effects !== "none" || node.context.config.queues.length > 0) return undefined;
  if (node.taskCapacity() - running <= 0 || node.rollouts.isShared(name)) return undefined;
  const version = pinned.versionFor(name, key);
  const found = executors.get(name)?.find((one) => version === undefined || one.version === version);
  return found?.isInProcess && !asksForResources(found.contract.resources) ? found : undefined;
}

/** Whether another executor comes after this one when it is down. */
function hasFallback({ fallback, fallbackOn }: Task, executor: string | undefined): boolean {
  const at = executor === undefined ? -1 : fallback.lastIndexOf(executor);
  return fallbackOn.includes("offline") && at < fallback.length - 1;
}

/** Undefined also where nobody else could do it: then it waits, and says for what. */
function impossibility(
  { executors, machines }: PlannedWorkflow & { machines: readonly Resources[] },
  pinned: PinnedVersions,
  { task, executor, key }: { task: Task; executor: string | undefined; key: string },
): string | undefined {
  if (machines.length === 0 || !hasFallback(task, executor)) return undefined;
  const own = ownResources(task, executor);
  const registered = executor === undefined ? [] : (executors.get(executor) ?? []);
  const needs =
    executor === undefined
      ? [own]
      : eligible(registered, pinned.versionFor(executor, key)).map((one) => needsOf(one, own));
  const whys = needs.map((one) => whyImpossible(one, machines));
  return whys.includes(undefined) ? undefined : whys[0];
}

/** What a task asks for is meant for the work that it names: a fallback needs what its own contract says. */
function ownResources({ work, resources }: Task, executor: string | undefined): Resources {
  const named = work.kind === "executor" ? work.executor : undefined;
  return executor === named ? resources : NO_RESOURCES;
}

function asksForResources({ cpu, memoryMb, gpu, gpuMemoryMb, labels }: Resources): boolean {
  return cpu + memoryMb + gpu + gpuMemoryMb > 0 || labels.length > 0;
}

function admissionFor(
  node: NodeForWorkflows,
  pinned: PinnedVersions,
  { task, executor, key }: { task: Task; executor: string | undefined; key: string },
): Admission {
  const { priority } = queueOf(node.settings().queues, task.queue);
  const version = executor === undefined ? undefined : pinned.versionFor(executor, key);
  const resources = ownResources(task, executor);
  return {
    priority: task.priority ?? priority,
    enqueuedAt: node.context.clock.now(),
    ...(executor !== undefined && { executor }),
    ...(hasFallback(task, executor) && { hasFallback: true }),
    ...(version !== undefined && { version }),
    ...(asksForResources(resources) && { resources }),
  };
}
