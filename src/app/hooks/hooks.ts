// Webhooks as people see them: which are configured, which jobs they set off, and what is missing.

import { isFault, messageOf } from "../../kernel/errors.ts";
import type { HookSignature } from "../../records/http-config.ts";
import type { JobView } from "../../records/ledger/slots.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";
import { triggersOfView } from "../fire-event.ts";

export interface HookDocument {
  name: string;
  /** Below the node's address. */
  path: string;
  signature: HookSignature;
  jobs: string[];
  isUsable: boolean;
  /** Why not, or null. */
  why: string | null;
}

/** Every configured webhook, by name. */
export async function listHooks(context: Context): Promise<HookDocument[]> {
  const views = await context.ledger.triggeredJobs();
  return Object.entries(context.config.http.hooks)
    .map(([name, { signature, secret }]): HookDocument => {
      const why = whyNoSecret(context, secret);
      const jobs = jobsOf(context, views, name);
      return { name, path: `/hooks/${name}`, signature, jobs, isUsable: why === undefined, why: why ?? null };
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** For `doctor`: webhooks that jobs wait for in vain. */
export async function hookFindings(context: Context): Promise<Finding[]> {
  const views = await context.ledger.triggeredJobs();
  const names = new Set(views.flatMap((view) => namesOf(context, view)));
  return [...names].sort().flatMap((name): Finding[] => {
    const hook = context.config.http.hooks[name];
    const why = hook ? whyNoSecret(context, hook.secret) : "it is not configured";
    if (why === undefined) return [];
    const jobs = jobsOf(context, views, name).join(", ");
    return [
      {
        code: "hookMissing",
        what: `The webhook "${name}", which sets off ${jobs}, takes nothing: ${why}.`,
        todo: `Set http.hooks.${name} in config.yaml and restart the node, then: nightshift hook list.`,
      },
    ];
  });
}

function namesOf(context: Context, view: JobView): string[] {
  return triggersOfView(context, view)
    .filter(({ kind }) => kind === "webhook")
    .map(({ name }) => name);
}

function jobsOf(context: Context, views: readonly JobView[], name: string): string[] {
  return views
    .filter((view) => namesOf(context, view).includes(name))
    .map(({ definition }) => definition.jobId);
}

function whyNoSecret(context: Context, secret: string): string | undefined {
  try {
    context.resolveReferences(secret);
    return undefined;
  } catch (error) {
    if (!isFault(error)) throw error;
    return messageOf(error);
  }
}
