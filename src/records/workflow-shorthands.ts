// Writes out a workflow's shorthands: what schema and people allow in several forms has one form from here on.

import { formatDuration, parseDuration, SECOND } from "../kernel/time.ts";
import type { ResourcesDocument, TaskDocument, WorkflowDocument } from "./workflow.ts";
import type { TaskInput, WorkflowInput } from "./workflow-schema.ts";

/** The canonical document of what the schema has read. */
export function workflowDocumentOf(input: WorkflowInput, defaultName: string): WorkflowDocument {
  const { name = defaultName, defaults, timeout, tasks, handlers, finally: last, ...rest } = input;
  return {
    name,
    ...rest,
    ...(defaults && {
      defaults: { timeout: durationText(defaults.timeout), retry: retryDocument(defaults.retry) },
    }),
    timeout: durationText(timeout),
    tasks: tasks.map(taskDocument),
    finally: listOf(last),
    ...(handlers && {
      handlers: {
        success: listOf(handlers.success),
        failure: listOf(handlers.failure),
        cancelled: listOf(handlers.cancelled),
      },
    }),
  };
}

function taskDocument(input: TaskInput): TaskDocument {
  const { agent, http, wait, approval, idleTimeout, queueTimeout, ...rest } = input;
  return {
    ...rest,
    agent: typeof agent === "string" ? { prompt: agent } : agent,
    http: typeof http === "string" ? { url: http } : http,
    wait: waitDocument(wait),
    approval: approvalDocument(approval),
    dependsOn: listOf(input.dependsOn),
    timeout: durationText(input.timeout),
    idleTimeout: positiveText(idleTimeout),
    queueTimeout: positiveText(queueTimeout),
    retry: retryDocument(input.retry),
    onSuccess: listOf(input.onSuccess),
    onFailure: listOf(input.onFailure),
    onComplete: listOf(input.onComplete),
    fallback: listOf(input.fallback),
    resources: resourcesDocument(input.resources),
  };
}

/** W3: a bare number is seconds; 0 stays 0 and means no limit. */
function durationText(value: string | number | undefined): string | 0 | undefined {
  if (value === undefined || value === 0) return value;
  return formatDuration(typeof value === "number" ? value * SECOND : (parseDuration(value) ?? 0));
}

function positiveText(value: string | number | undefined): string | undefined {
  return durationText(value) || undefined;
}

/** A number is seconds; a text that is no duration counts as absent (its schema has refused it). */
export function millisecondsOf(value: string | number | undefined): number | undefined {
  if (value === undefined) return undefined;
  return typeof value === "number" ? value * SECOND : parseDuration(value);
}

/** @internal shared with the orchestrator's config. */
export function retryDocument(retry: TaskInput["retry"]): TaskDocument["retry"] {
  if (retry === undefined) return undefined;
  if (typeof retry === "number") return { max: retry };
  const { maxRetries, backoffFactor, max = maxRetries, backoff = backoffFactor, ...rest } = retry;
  return {
    ...rest,
    max,
    backoff,
    delay: positiveText(retry.delay),
    maxDelay: positiveText(retry.maxDelay),
    on: listOf(retry.on),
    notOn: listOf(retry.notOn),
  };
}

/** `gpu: true` is one card (W3). */
export function resourcesDocument(resources: TaskInput["resources"]): ResourcesDocument | undefined {
  if (resources === undefined) return undefined;
  const { gpu, labels, ...rest } = resources;
  return { ...rest, gpu: typeof gpu === "boolean" ? Number(gpu) : gpu, labels: listOf(labels) };
}

function waitDocument(wait: TaskInput["wait"]): TaskDocument["wait"] {
  if (wait === undefined) return undefined;
  if (typeof wait !== "object") return { for: String(durationText(wait) || "0s") };
  return {
    for: wait.for === undefined ? undefined : String(durationText(wait.for) || "0s"),
    until: wait.until,
  };
}

function approvalDocument(approval: TaskInput["approval"]): TaskDocument["approval"] {
  if (approval === undefined || typeof approval === "string")
    return approval === undefined ? undefined : { message: approval };
  return { message: approval.message, timeout: positiveText(approval.timeout) };
}

function listOf<Item>(value: Item | Item[] | undefined): Item[] | undefined {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value : [value];
}
