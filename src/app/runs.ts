// Runs as people see them: list, show, tree, logs, cancel, retry, resolve.

import { Fault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/time.ts";
import type { NewRun } from "../records/ledger/claims.ts";
import { isTerminal, type Run, type RunEvent, type RunState } from "../records/run.ts";
import { besideName } from "../store/files/output-files.ts";
import type { Context } from "./context.ts";
import { type RunDocument, runDocument } from "./documents.ts";
import { unitOf } from "./run-names.ts";
import { readRunTimes } from "./run-times.ts";
import { traitsOf } from "./run-traits.ts";
import { shownEvent } from "./trigger-of-run.ts";
import type { RunShowDocument, TurnDocument } from "./turn-documents.ts";

export interface RunListInput {
  job?: string;
  state?: readonly RunState[];
  since?: Instant;
  before?: string;
  /** Default 50. */
  limit?: number;
}

/** Newest first. */
export async function listRuns(context: Context, input: RunListInput): Promise<RunDocument[]> {
  const runs = await context.ledger.runs({
    ...(input.job !== undefined && { jobId: input.job }),
    ...(input.state && { state: input.state }),
    ...(input.since !== undefined && { since: input.since }),
    ...(input.before !== undefined && { before: input.before }),
    limit: input.limit ?? 50,
  });
  return runs.map((run) => runDocument(run));
}

/** What the workflows are called that these runs are tasks of, by their runs' ids. */
export async function workflowNamesOf(
  context: Context,
  runs: readonly RunDocument[],
): Promise<ReadonlyMap<string, string>> {
  const parents = new Set(runs.flatMap(({ unit, parentId }) => (unit === null ? [] : (parentId ?? []))));
  const found = await Promise.all([...parents].map((id) => context.ledger.run(id)));
  return new Map(
    found.flatMap((run) => {
      if (!run || "ambiguous" in run) return [];
      const { jobId, work } = runDocument(run);
      const name = jobId ?? work;
      return name === null ? [] : [[run.id, name] as const];
    }),
  );
}

/** The run with this id or unique prefix. Throws `input.not-found`, `input.ambiguous`. */
export async function findRun(context: Context, idOrPrefix: string): Promise<Run> {
  const found = await context.ledger.run(idOrPrefix);
  if (!found) {
    throw new Fault("input.not-found", `there is no run "${idOrPrefix}"`, {
      hint: "See `nightshift run list`.",
    });
  }
  if ("ambiguous" in found) {
    throw new Fault(
      "input.ambiguous",
      `"${idOrPrefix}" could be several runs: ${found.ambiguous.join(", ")}`,
      {
        hint: "Write more of the id.",
        details: { candidates: found.ambiguous },
      },
    );
  }
  return found;
}

/** The newest attempt of the same work: a retry or a rerun that followed, else the run itself. */
export async function newestAttempt(context: Context, idOrPrefix: string): Promise<Run> {
  const run = await findRun(context, idOrPrefix);
  return (await context.ledger.attempts(run.dedupeKey)).at(-1) ?? run;
}

/** One run with its deliveries and resolutions, an agent's turns, and where its time went. */
export async function showRun(context: Context, idOrPrefix: string): Promise<RunShowDocument> {
  const run = await findRun(context, idOrPrefix);
  const [document, turns, event, times] = await Promise.all([
    documentOf(context, run),
    turnsOfRun(context, run),
    shownEvent(context, run),
    readRunTimes(context, run),
  ]);
  const { outputFile } = run;
  const isKept = turns.length > 0 && outputFile !== undefined;
  const trajectoryFile = isKept ? besideName(outputFile, "trajectory") : null;
  return { ...document, turns, trajectoryFile, event, times };
}

/** Read only where there may be some: most runs are scripts, whose logs hold output. */
async function turnsOfRun(context: Context, run: Run): Promise<TurnDocument[]> {
  const isFinished = isTerminal(run.state) && run.state !== "unknown";
  if (run.startedAt === undefined || (isFinished && run.usage?.turns === undefined)) return [];
  const { runTurns } = await import("./agent/run-turns.ts");
  return runTurns(context, run.id);
}

export async function documentOf(context: Context, run: Run): Promise<RunDocument> {
  const [deliveries, resolutions] = await Promise.all([
    context.ledger.deliveries({ runId: run.id, limit: 200 }),
    context.ledger.resolutions(run.id),
  ]);
  return runDocument(run, { deliveries: [...deliveries].reverse(), resolutions });
}

export type RunTreeDocument = RunDocument & { turns: TurnDocument[]; children: RunTreeDocument[] };

/** The whole tree a run belongs to, from its root. */
export async function runTree(context: Context, idOrPrefix: string): Promise<RunTreeDocument> {
  const run = await findRun(context, idOrPrefix);
  const nodes = new Map<string, RunTreeDocument>();
  let root: RunTreeDocument = { ...runDocument(run), turns: [], children: [] };
  for (const member of await context.ledger.tree(run.rootId)) {
    const turns = await turnsOfRun(context, member);
    const node: RunTreeDocument = { ...runDocument(member), turns, children: [] };
    nodes.set(member.id, node);
    if (member.id === member.rootId) root = node;
    else nodes.get(member.parentId ?? member.rootId)?.children.push(node);
  }
  for (const { children } of nodes.values()) children.sort(byTime);
  return root;
}

/** Ids of one millisecond have no order: of two attempts of a task the second is the later one. */
function byTime(a: RunDocument, b: RunDocument): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.unit === b.unit ? a.attempt - b.attempt : 0;
}

/** Live log lines after `after`, oldest first. */
export async function runEvents(
  context: Context,
  runId: string,
  after = 0,
  limit = 1_000,
): Promise<readonly RunEvent[]> {
  return context.ledger.events({ runId, after, limit });
}

/** Asks for a run's end. A run that is not live ends at once. Throws `input.conflict` for one that has ended. */
export async function cancelRun(context: Context, idOrPrefix: string): Promise<RunDocument> {
  const { id } = await findRun(context, idOrPrefix);
  const answer = await context.ledger.requestCancel(id, context.actor, await context.ledger.now());
  if (answer.kind === "notFound") return documentOf(context, await findRun(context, id));
  if (answer.kind === "finished") {
    throw new Fault("input.conflict", `run ${id} has already ended as ${answer.run.state}`, {
      hint: "Nothing is left to cancel.",
    });
  }
  await context.ledger.wakeOthers();
  return documentOf(context, answer.run);
}

/** A person runs it again: a new key, unless `isSameKey` (L6). Counts for no slot. Throws `input.conflict` while it is open. */
export async function retryRun(
  context: Context,
  idOrPrefix: string,
  options: { isSameKey: boolean },
): Promise<RunDocument> {
  const run = await findRun(context, idOrPrefix);
  if (!isTerminal(run.state)) {
    throw new Fault("input.conflict", `run ${run.id} is ${run.state}`, {
      hint: "Wait for its end, or cancel it first.",
    });
  }
  const unit = unitOf(run);
  if (unit !== undefined)
    throw new Fault("input.refused", `run ${run.id} is the task ${unit} of a workflow`, {
      hint: `Write \`nightshift run retry ${run.parentId} --from ${unit.replace(/\[.*/, "")}\`.`,
    });
  return repeatRun(context, run, {
    trigger: "manual",
    idempotencyKey: options.isSameKey ? run.idempotencyKey : undefined,
  });
}

/** Runs that the ledger holds against the world's end of the story: what `L6` leaves to people. */
export async function repeatRun(
  context: Context,
  run: Run,
  options: { trigger: "manual" | "rerun"; idempotencyKey: string | undefined },
): Promise<RunDocument> {
  const now = await context.ledger.now();
  const id = makeId(now, context.random);
  const work = run.jobId === undefined ? ownWork(run) : await jobWork(context, run.id, run.jobId);
  const [queued] = await context.ledger.enqueue([
    {
      id,
      dedupeKey: `manual/${id}`,
      attempt: 1,
      kind: run.kind,
      ...work,
      parentId: undefined,
      rootId: id,
      slot: undefined,
      trigger: options.trigger,
      // What set it off sets off its repetition, too.
      eventId: run.eventId,
      idempotencyKey: options.idempotencyKey ?? id,
      readyAt: now,
      createdAt: now,
    },
  ]);
  await context.ledger.wakeOthers();
  return runDocument(queued as Run);
}

type RepeatedWork = Pick<
  NewRun,
  "jobId" | "version" | "effects" | "isExclusive" | "input" | "queue" | "admission"
>;

/** The job as it is now, not as it was. */
async function jobWork(context: Context, runId: string, jobId: string): Promise<RepeatedWork> {
  const view = await context.ledger.job(jobId);
  if (!view || view.cursor.removedAt !== undefined) {
    throw new Fault("input.conflict", `the job of run ${runId} was removed`, {
      hint: "Add the job again, then `nightshift job run`.",
    });
  }
  const job = context.parseJob(view.definition);
  const { effects, overlap } = job;
  const traits = traitsOf(context, job);
  return { jobId, version: view.definition.version, effects, isExclusive: overlap !== "allow", ...traits };
}

/** Work that is no job's is in the row itself. */
function ownWork({ id, input, effects, isExclusive, queue, admission }: Run): RepeatedWork {
  const waits = queue !== undefined && admission && { queue, admission };
  if (input !== undefined)
    return { jobId: undefined, version: undefined, effects, isExclusive, input, ...waits };
  throw new Fault("input.conflict", `run ${id} has neither a job nor work of its own`, {
    hint: "Start it again the way it was started.",
  });
}
