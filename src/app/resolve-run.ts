// A person's word about what the program cannot know (L1, L6): an `unknown` run, an approval, a workflow's task.

import { Fault } from "../kernel/errors.ts";
import { isTerminal, type Resolution, type Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import type { RunDocument } from "./documents.ts";
import { unitOf } from "./run-names.ts";
import { documentOf, findRun, repeatRun } from "./runs.ts";
import { openQuestions } from "./workflows/open-questions.ts";

/** What a person knows of an `unknown` run (L1, L6). `rerun` queues another attempt with the same key. */
export async function resolveRun(
  context: Context,
  idOrPrefix: string,
  input: { as: "succeeded" | "failed" | "rerun"; note?: string },
): Promise<RunDocument> {
  const run = await questionOf(context, await findRun(context, idOrPrefix));
  const isApproval = isOpenApproval(run);
  if (isApproval && input.as === "rerun")
    throw new Fault("input.refused", "an approval is given or refused, not run again", {
      hint: "Say --as succeeded or --as failed.",
    });
  const earlier = (await context.ledger.resolutions(run.id)).find((resolution) => resolution.as !== "early");
  if (earlier) {
    throw new Fault("input.conflict", `run ${run.id} was resolved as ${earlier.as} by ${earlier.by}`, {
      hint: "A resolution stands.",
    });
  }
  const at = await context.ledger.now();
  const resolution: Resolution = { runId: run.id, as: input.as, by: context.actor, note: input.note, at };
  await context.ledger.resolve(resolution);
  await context.ledger.wakeOthers();
  // A task's workflow does what follows.
  if (input.as === "rerun" && run.parentId === undefined)
    await repeatRun(context, run, { trigger: "rerun", idempotencyKey: run.idempotencyKey });
  return documentOf(context, run);
}

const isOpenApproval = ({ state, reason }: Run) => state === "waiting" && reason === "approval";

/** What waits for a person's word: the run itself, or the one task of a live workflow that does. Throws `input.conflict`. */
async function questionOf(context: Context, run: Run): Promise<Run> {
  const parent = run.parentId === undefined ? undefined : await findRun(context, run.parentId);
  if (parent?.kind === "workflow") return taskQuestion(context, parent, run);
  if (run.state === "unknown") return run;
  if (run.kind === "workflow" && !isTerminal(run.state)) return onlyQuestion(context, run);
  throw noQuestion(run, `is ${run.state}, not unknown`);
}

/** An attempt that its workflow has repeated, or settled by `onUnknown`, is no question any more. */
async function taskQuestion(context: Context, workflow: Run, task: Run): Promise<Run> {
  const open = await openQuestions(context, workflow.id);
  const [said] = await context.ledger.resolutions(task.id);
  if (said !== undefined || open.some(({ id }) => id === task.id)) return task;
  if (task.kind === "workflow" && !isTerminal(task.state)) return onlyQuestion(context, task);
  if (task.state !== "unknown") throw noQuestion(task, `is ${task.state}, not unknown`);
  throw new Fault(
    "input.conflict",
    `run ${task.id} is unknown, and its workflow has gone on without a word`,
    {
      hint: `See \`nightshift run tree ${workflow.id}\`.`,
    },
  );
}

async function onlyQuestion(context: Context, workflow: Run): Promise<Run> {
  const open = await openQuestions(context, workflow.id);
  const [only] = open;
  if (only && open.length === 1) return only;
  if (!only) throw noQuestion(workflow, `is ${workflow.state}, and none of its tasks waits for a word`);
  throw new Fault("input.conflict", `run ${workflow.id} has ${open.length} tasks that wait for a word`, {
    hint: `Name one of them: ${open.map((task) => `${task.id} (${unitOf(task)})`).join(", ")}.`,
  });
}

function noQuestion({ id }: Run, what: string): Fault {
  return new Fault("input.conflict", `run ${id} ${what}`, {
    hint: "Only unknown runs and approvals are resolved.",
  });
}
