// A person's word about what the program cannot know (L1, L6): an `unknown` run, an approval, a workflow's task.

import { Fault } from "../kernel/errors.ts";
import { isTerminal, type Resolution, type Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import type { RunDocument } from "./documents.ts";
import { documentOf, findRun, repeatRun } from "./runs.ts";

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

/** A task that its stopping node took along is as unknown as one that a dying node did. */
const isQuestion = (run: Run) =>
  run.state === "unknown" ||
  isOpenApproval(run) ||
  (run.parentId !== undefined && run.reason === "nodeStopped");

const isOpenApproval = ({ state, reason }: Run) => state === "waiting" && reason === "approval";

/** What waits for a person's word: the run itself, or the one task of a live workflow that does. Throws `input.conflict`. */
async function questionOf(context: Context, run: Run): Promise<Run> {
  if (isQuestion(run)) return run;
  const { ledger } = context;
  const isLiveWorkflow = run.kind === "workflow" && !isTerminal(run.state);
  const [tasks, said] = isLiveWorkflow
    ? await Promise.all([ledger.tasksOf(run.id), ledger.resolutionsOf(run.id)])
    : [[], []];
  const isOpen = (task: Run) => isQuestion(task) && !said.some(({ runId }) => runId === task.id);
  const open = tasks.filter(isOpen);
  const [only] = open;
  if (only && open.length === 1) return only;
  const what =
    open.length > 1 ? `has ${open.length} tasks that wait for a word` : `is ${run.state}, not unknown`;
  throw new Fault("input.conflict", `run ${run.id} ${what}`, {
    hint:
      open.length > 1
        ? `Name one of them: ${open.map(({ id, dedupeKey }) => `${id} (${dedupeKey.split("/").at(-1)})`).join(", ")}.`
        : "Only unknown runs and approvals are resolved.",
  });
}
