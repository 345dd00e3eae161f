// `run retry --replay`: a recorded agent run once more, in this process, from its tape. It is nobody's slot, and what it
// says goes to nobody: it is looked at by who asked for it.

import { Fault } from "../kernel/errors.ts";
import type { JobDocument } from "../records/job.ts";
import type { Run } from "../records/run.ts";
import { openOutputFiles } from "../store/files/output-files.ts";
import type { Context } from "./context.ts";
import { runHere } from "./node.ts";
import type { AgentOptions, Replay } from "./node-options.ts";
import { enqueueAgentRun } from "./queue-agent-run.ts";
import { findRun, showRun } from "./runs.ts";
import type { RunShowDocument } from "./turn-documents.ts";

export interface ReplayOptions extends Pick<AgentOptions, "onEvent"> {
  /** Goes live after so many turns; undefined = never. */
  forkTurns?: number;
  signal: AbortSignal;
}

/**
 * Plays it to its end and shows the new run. Throws `cassette.missing` for a run that was not recorded, `input.conflict`
 * for one whose job is gone.
 */
export async function replayRun(
  context: Context,
  idOrPrefix: string,
  { forkTurns, signal, onEvent }: ReplayOptions,
): Promise<RunShowDocument> {
  const run = await findRun(context, idOrPrefix);
  const replay: Replay = {
    tape: await readTape(context, run),
    ...(forkTurns !== undefined && { forkTurns }),
  };
  const { id } = await enqueueAgentRun(context, await workOf(context, run), {
    effects: run.effects,
    isForHere: true,
  });
  await runHere({ context, agent: { replay, ...(onEvent && { onEvent }) } }, { id, signal });
  return showRun(context, id);
}

async function readTape({ home }: Context, run: Run): Promise<string> {
  const files = openOutputFiles(home.paths.root);
  const tape = run.outputFile === undefined ? undefined : await files.readBeside(run.outputFile, "cassette");
  if (tape !== undefined) return tape;
  throw new Fault("cassette.missing", `run ${run.id} was not recorded`, {
    hint: "Set `models.record: true` in config.yaml; later runs of agents can be replayed.",
  });
}

/** The work as it is now, by hand and told to nobody. */
async function workOf({ ledger }: Context, run: Run): Promise<JobDocument> {
  const definition = run.jobId === undefined ? undefined : await ledger.definition(run.jobId);
  const text = definition?.document ?? run.input;
  if (text === undefined)
    throw new Fault("input.conflict", `the work of run ${run.id} is not known any more`, {
      hint: "Run the job anew.",
    });
  const { schedule: _, ...document } = JSON.parse(text) as JobDocument;
  return { ...document, ...(definition && { timezone: definition.zone }), deliver: [], onFailure: [] };
}
