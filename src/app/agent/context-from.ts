// What an agent is told of other jobs' last words (`contextFrom`): the newest output that was not silent.

import type { EarlierOutput } from "../../agent/prompt/assemble-prompt.ts";
import type { Run } from "../../records/run.ts";
import { openOutputFiles } from "../../store/files/output-files.ts";
import type { Context } from "../context.ts";

/** How far back the newest output that says something is looked for: silent runs are the rule for a watchdog. */
const RUNS_LOOKED_AT = 200;
/** Mostly the newest has. */
const PAGE = 20;

/**
 * In the order asked, whole (the prompt's own bound cuts them). `self` is `ownJobId`. A job that has said nothing yet has
 * no output; an output file that is gone gives way to what the row kept.
 */
export async function earlierOutputs(
  context: Pick<Context, "ledger" | "home">,
  contextFrom: readonly string[],
  ownJobId: string,
): Promise<EarlierOutput[]> {
  const jobIds = [...new Set(contextFrom.map((id) => (id === "self" ? ownJobId : id)))];
  return Promise.all(jobIds.map(async (jobId) => ({ jobId, output: await newestOutput(context, jobId) })));
}

async function newestOutput(
  context: Pick<Context, "ledger" | "home">,
  jobId: string,
): Promise<EarlierOutput["output"]> {
  const run = await newestSpeaking(context, jobId);
  if (!run) return undefined;
  const text = (await bodyOf(context, run)) ?? run.outcome?.output ?? "";
  return { at: run.finishedAt ?? run.createdAt, text: text.trim() };
}

async function newestSpeaking({ ledger }: Pick<Context, "ledger">, jobId: string): Promise<Run | undefined> {
  let before: string | undefined;
  for (let seen = 0; seen < RUNS_LOOKED_AT; seen += PAGE) {
    const filter = { jobId, state: ["succeeded"] as const, limit: PAGE };
    const runs = await ledger.runs({ ...filter, ...(before !== undefined && { before }) });
    const run = runs.find(hasSpoken);
    if (run || runs.length < PAGE) return run;
    before = runs.at(-1)?.id;
  }
  return undefined;
}

function hasSpoken({ outcome }: Run): boolean {
  return outcome?.state === "succeeded" && !outcome.isSilent && outcome.output.trim() !== "";
}

async function bodyOf({ home }: Pick<Context, "home">, { outputFile }: Run): Promise<string | undefined> {
  return outputFile === undefined ? undefined : openOutputFiles(home.paths.root).readBody(outputFile);
}
