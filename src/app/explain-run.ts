// What `run explain` reads before it says its sentence.

import { isLive, type Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import { jobState } from "./documents.ts";
import { type ExplainFacts, type Explanation, explainRun, liveOther } from "./explain.ts";
import { isUp } from "./nodes.ts";
import { unitOf } from "./run-names.ts";
import { findRun } from "./runs.ts";

async function queueFacts(
  { ledger, config }: Context,
  { queue, queue: name }: Run,
): Promise<ExplainFacts["queue"]> {
  if (queue === undefined) return undefined;
  const counts = await ledger.queueCounts();
  const settings = config.queues.find((one) => one.name === name);
  const mine = counts.find((one) => one.queue === name);
  const { maxConcurrentTasks } = config.orchestrator;
  const running = counts.reduce((sum, one) => sum + one.running, 0);
  return {
    name: queue,
    width: settings?.width,
    running: mine?.running ?? 0,
    maxConcurrentTasks,
    runningInAll: running,
  };
}

/** Why a run is not running, in one sentence. */
export async function explain(context: Context, idOrPrefix: string): Promise<Explanation> {
  const run = await findRun(context, idOrPrefix);
  const now = await context.ledger.now();
  const [nodes, view] = await Promise.all([
    context.ledger.nodes(),
    run.jobId === undefined ? undefined : context.ledger.job(run.jobId),
  ]);
  const nodesUp = nodes.filter((node) => isUp(node, context, now));
  const job = view && jobState(view.cursor, JSON.parse(view.definition.document));
  const lacks = await whatIsLacking(context, run);
  const openRuns = view?.openRuns ?? [];
  const other = liveOther(run, openRuns);
  const blocker = other && (await findRun(context, other.id));
  const queue = await queueFacts(context, run);
  const questions = await questionsAbout(context, run);
  return explainRun(run, { now, nodes, nodesUp, job, openRuns, blocker, lacks, queue, questions });
}

/** What keeps a run waiting that a machine would have to have: looked at now, else as a node said. */
async function whatIsLacking(context: Context, run: Run): Promise<string | undefined> {
  if (run.state !== "waiting") return undefined;
  if (run.reason === "node") return whatNodesLack(context, run.id);
  if (run.reason !== "resources") return undefined;
  const { readMachines, whyNoMachine } = await import("./resources/machines.ts");
  return whyNoMachine(context, run, await readMachines(context));
}

/** The newest word of a node that looked at the run and could not prepare it (L12). */
async function whatNodesLack(context: Context, runId: string): Promise<string | undefined> {
  const events = await context.ledger.events({ runId, limit: 1_000 });
  const { lacks } = events.filter(({ kind }) => kind === "run-waiting").at(-1)?.data ?? {};
  return typeof lacks === "string" ? lacks : undefined;
}

/** What people are asked: all that a live workflow asks, or what it asks about this one of its tasks. */
async function questionsAbout(context: Context, run: Run): Promise<ExplainFacts["questions"]> {
  const isWorkflow = run.kind === "workflow" && isLive(run.state);
  const isInDoubt = run.state === "unknown" || run.reason === "nodeStopped";
  const isTask = run.parentId !== undefined && isInDoubt;
  if (!isWorkflow && !isTask) return undefined;
  const { openQuestions } = await import("./workflows/open-questions.ts");
  const open = await openQuestions(context, isWorkflow ? run.id : (run.parentId ?? ""));
  return open
    .filter((one) => isWorkflow || one.id === run.id)
    .map((one) => ({ id: one.id, unit: unitOf(one) ?? one.id, isApproval: one.reason === "approval" }));
}
