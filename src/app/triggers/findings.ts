// For `doctor`: topics and files that jobs wait for in vain.

import { stat } from "node:fs/promises";
import type { JobTrigger } from "../../records/trigger.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";
import { triggersOfView } from "../fire-event.ts";
import { readFilePattern } from "./file-pattern.ts";

export async function triggerFindings(context: Context): Promise<Finding[]> {
  const jobs = new Map<string, { trigger: JobTrigger; jobIds: string[] }>();
  for (const view of await context.ledger.triggeredJobs())
    for (const trigger of triggersOfView(context, view)) {
      const key = `${trigger.kind} ${trigger.name}`;
      const jobIds = [...(jobs.get(key)?.jobIds ?? []), view.definition.jobId];
      jobs.set(key, { trigger, jobIds });
    }
  const findings: Finding[] = [];
  for (const { trigger, jobIds } of jobs.values()) {
    const found = await findingOf(context, trigger, jobIds.join(", "));
    if (found) findings.push(found);
  }
  return findings;
}

async function findingOf(context: Context, trigger: JobTrigger, jobs: string): Promise<Finding | undefined> {
  if (trigger.kind === "mqtt") {
    const { whyNotListening } = await import("./listen-mqtt.ts");
    const why = await whyNotListening(context, trigger);
    if (why === undefined) return undefined;
    return {
      code: "topicNotHeard",
      what: `The topic "${trigger.topic}", which sets off ${jobs}, is not listened to: ${why}.`,
      todo: "Correct it and restart the node.",
    };
  }
  if (trigger.kind !== "watch" || !("pattern" in trigger)) return undefined;
  const { folder } = readFilePattern(trigger.pattern, context.env.HOME ?? "/");
  const isThere = await stat(folder)
    .then((stats) => stats.isDirectory())
    .catch(() => false);
  if (isThere) return undefined;
  return {
    code: "watchedFolderMissing",
    what: `The folder ${folder}, whose files set off ${jobs}, is not there or cannot be read.`,
    todo: "Make it; a node sees it within two seconds.",
  };
}
