// What an agent is told of other jobs' last words (`contextFrom`): the newest output that was not silent.

import type { Instant } from "../../kernel/time.ts";
import type { Run } from "../../records/run.ts";
import { openOutputFiles } from "../../store/files/output-files.ts";
import type { Context } from "../context.ts";

/** One job's newest output, whole; the prompt's own bound cuts it. */
export interface EarlierOutput {
  jobId: string;
  at: Instant;
  text: string;
}

/** How far back the newest output that says something is looked for: silent runs are the rule for a watchdog. */
const RUNS_LOOKED_AT = 200;

/**
 * In the order asked. `self` is `ownJobId`. A job that has said nothing yet is left out; an output file that is gone
 * gives way to what the row kept.
 */
export async function earlierOutputs(
  context: Pick<Context, "ledger" | "home">,
  contextFrom: readonly string[],
  ownJobId: string,
): Promise<EarlierOutput[]> {
  const jobIds = [...new Set(contextFrom.map((id) => (id === "self" ? ownJobId : id)))];
  const found = await Promise.all(jobIds.map((jobId) => newestOutput(context, jobId)));
  return found.filter((one): one is EarlierOutput => one !== undefined);
}

async function newestOutput(
  context: Pick<Context, "ledger" | "home">,
  jobId: string,
): Promise<EarlierOutput | undefined> {
  const runs = await context.ledger.runs({ jobId, state: ["succeeded"], limit: RUNS_LOOKED_AT });
  const run = runs.find(hasSpoken);
  if (!run) return undefined;
  const text = (await bodyOf(context, run)) ?? run.outcome?.output ?? "";
  return { jobId, at: run.finishedAt ?? run.createdAt, text: text.trim() };
}

function hasSpoken({ outcome }: Run): boolean {
  return outcome?.state === "succeeded" && !outcome.isSilent && outcome.output.trim() !== "";
}

async function bodyOf({ home }: Pick<Context, "home">, run: Run): Promise<string | undefined> {
  if (run.outputFile === undefined) return undefined;
  const text = await openOutputFiles(home.paths.root).read(run.outputFile);
  return text?.replace(/^---\n[\s\S]*?\n---\n/, "");
}
