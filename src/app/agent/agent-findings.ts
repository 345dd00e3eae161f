// What `doctor` finds about agent jobs: those that could not run now, and what their commands could see (S1).

import { whyNoWalls } from "../../execute/environments/bubblewrap.ts";
import { isFault, sayFault } from "../../kernel/errors.ts";
import type { Job } from "../../records/job.ts";
import type { Context } from "../context.ts";
import type { Finding } from "../diagnosis.ts";
import { environmentOf } from "../environments.ts";
import { checkAgent } from "./check-agent.ts";

/** Changes nothing and asks no model. */
export async function agentFindings(context: Context, jobs: readonly Job[]): Promise<Finding[]> {
  const signal = new AbortController().signal;
  const findings: Finding[] = [];
  for (const job of jobs) {
    if (job.work.kind !== "agent" || !job.enabled) continue;
    const { agent } = job.work;
    const why = await whyNot(() => checkAgent(context, job, agent, { isAttended: false, signal }));
    if (why === undefined) continue;
    findings.push({ code: "jobCannotRun", what: `Agent job "${job.id}" cannot run now.`, todo: why });
  }
  return [...findings, ...(await boundaryFindings(context, jobs))];
}

async function whyNot(check: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (!isFault(error)) throw error;
    const said = sayFault(error);
    return said.charAt(0).toUpperCase() + said.slice(1);
  }
}

/** S1: where nothing hides the home, `local` is no boundary, and a person should know. */
async function boundaryFindings(context: Context, jobs: readonly Job[]): Promise<Finding[]> {
  const open = jobs.filter(
    (job) => job.work.kind === "agent" && !job.work.agent.runner && isLocal(context, job),
  );
  if (open.length === 0) return [];
  const why = await whyNoWalls({ kind: "hide", hidden: [], shown: [] }, { PATH: context.env.PATH ?? "" });
  if (why === undefined) return [];
  const names = open.map(({ id }) => `"${id}"`).join(", ");
  return [
    {
      code: "localIsOpen",
      what: `Commands of the agent jobs ${names} can read this home, its .env and its token: local is no boundary here (${why}).`,
      todo: "Install bubblewrap (bwrap) and allow user namespaces, or give the jobs a container as environment.",
    },
  ];
}

/** A place that cannot be read any more is no place at all: the job cannot run, which is said of it. */
function isLocal(context: Context, job: Job): boolean {
  try {
    return environmentOf(context, job).backend === "local";
  } catch (error) {
    if (!isFault(error)) throw error;
    return false;
  }
}
