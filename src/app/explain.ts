// `run explain`: one sentence on why a run is not running, naming who or what holds it and until when. Pure.

import { formatDuration, formatInstant, type Instant } from "../kernel/time.ts";
import type { OpenRun } from "../records/ledger/slots.ts";
import type { NodeRecord } from "../records/node.ts";
import { isLive, type Run } from "../records/run.ts";
import type { JobState } from "./documents.ts";
import { takesWork } from "./nodes.ts";

export interface ExplainFacts {
  now: Instant;
  /** Nodes that are up, as far as anyone can tell. */
  nodesUp: readonly NodeRecord[];
  /** Every node the ledger remembers, for names. */
  nodes: readonly NodeRecord[];
  /** The job's state, absent for work that is no job's. */
  job: { state: JobState; stateReason: string | null } | undefined;
  /** Open runs of the same job, this one included. */
  openRuns: readonly OpenRun[];
  /** The live run of the same job that this one may have to wait for. */
  blocker?: Run | undefined;
  /** For `waiting: node` and `waiting: resources`: what the nodes that looked at it lack. */
  lacks?: string | undefined;
  /** What its workflow asks people: of a live workflow everything, of its task what is asked about it. */
  questions?: readonly Question[] | undefined;
  /** Of a run that waits in a queue. `width` undefined = it has none. */
  queue?:
    | {
        name: string;
        width: number | undefined;
        running: number;
        maxConcurrentTasks: number;
        runningInAll: number;
      }
    | undefined;
}

export interface Question {
  /** Of the task's run. */
  id: string;
  unit: string;
  /** Else nobody knows what became of its effect. */
  isApproval: boolean;
}

export interface Explanation {
  runId: string;
  state: string;
  /** A word for programs: `finished`, `running`, `question`, `overlap`, `backoff`, `paused`, `nodeDown`, `nodesFull`, `lease`, `node`, `approval`, `pause`, `resources`, `queueFull`, `group`, `due`. */
  because: string;
  sentence: string;
  until: string | null;
  holder: string | null;
}

/** Why the run is not running; for one that runs or has ended, what it does or how it ended. */
export function explainRun(run: Run, facts: ExplainFacts): Explanation {
  const found = explainState(run, facts);
  return {
    runId: run.id,
    state: run.state,
    because: found.because,
    sentence: found.sentence,
    until: found.until === undefined ? null : formatInstant(found.until),
    holder: found.holder ?? null,
  };
}

interface Found {
  because: string;
  sentence: string;
  until?: Instant | undefined;
  holder?: string | undefined;
}

function explainState(run: Run, facts: ExplainFacts): Found {
  if (run.finishedAt !== undefined) return explainFinished(run, facts);
  if (isLive(run.state)) return explainLive(run, facts);
  return (
    explainQuestion(run) ??
    explainSuspended(run, facts) ??
    explainDelay(run, facts.now) ??
    explainNoNode(run, facts) ??
    explainOverlap(run, facts) ??
    explainResources(run, facts) ??
    explainQueue(run, facts) ??
    explainFull(run, facts) ?? {
      because: "due",
      sentence: "It is ready; the next pass of a node will claim it.",
    }
  );
}

function explainFinished(run: Run, { questions }: ExplainFacts): Found {
  const when = formatInstant(run.finishedAt ?? run.createdAt);
  const why = run.reason ? ` (${run.reason})` : "";
  const [question] = questions ?? [];
  if (question) {
    const sentence = `It ended as ${run.state}${why} at ${when}; its workflow waits for a person's word: ${answerTo(question)}.`;
    return { because: "question", sentence };
  }
  return { because: "finished", sentence: `It ended as ${run.state}${why} at ${when}.` };
}

function answerTo({ id, isApproval }: Question): string {
  const words = isApproval
    ? "`--as succeeded` approves, `--as failed` refuses"
    : "`--as rerun` has it done again, `--as succeeded` or `--as failed` says how it ended";
  return `\`nightshift run resolve ${id}\`, where ${words}`;
}

function explainLive(run: Run, { nodes, nodesUp, now, questions = [] }: ExplainFacts): Found {
  const name = nodes.find((node) => node.id === run.owner)?.name ?? run.owner ?? "an unknown node";
  const isUp = nodesUp.some((node) => node.id === run.owner);
  if (!isUp) {
    const until = run.leaseUntil;
    const sentence = `Its node ${name} seems gone; the lease it holds ends ${at(until, now)}, then another node takes over.`;
    return { because: "lease", sentence, until, holder: name };
  }
  if (run.state === "claimed")
    return {
      because: "claimed",
      sentence: `Node ${name} has claimed it and is about to start it.`,
      holder: name,
    };
  const since = run.startedAt === undefined ? "" : ` since ${formatInstant(run.startedAt)}`;
  if (run.state === "cancelling") {
    return {
      because: "cancelling",
      sentence: `Node ${name} is ending it, as ${run.cancelledBy ?? "somebody"} asked.`,
      holder: name,
    };
  }
  const [question, ...more] = questions;
  if (question) {
    const others =
      more.length > 0 ? ` So do ${more.map(({ unit, id }) => `${unit} (${id})`).join(", ")}.` : "";
    const sentence = `It is running on node ${name}${since}; its task ${question.unit} waits for a person's word: ${answerTo(question)}.${others}`;
    return { because: "question", sentence, holder: name };
  }
  return { because: "running", sentence: `It is running on node ${name}${since}.`, holder: name };
}

function explainSuspended(run: Run, { job }: ExplainFacts): Found | undefined {
  if (!job || run.trigger === "manual") return undefined;
  if (!["paused", "quarantined", "disabled"].includes(job.state)) return undefined;
  const reason = job.stateReason ? `: ${job.stateReason}` : "";
  return { because: job.state, sentence: `Its job is ${job.state}${reason}.` };
}

function explainDelay(run: Run, now: Instant): Found | undefined {
  if (run.readyAt <= now) return undefined;
  const until = run.readyAt;
  if (run.state === "waiting" && run.reason === "retry") {
    return {
      because: "backoff",
      sentence: `It tries again ${at(until, now)} as attempt ${run.attempt}.`,
      until,
    };
  }
  return { because: "notDue", sentence: `It is due ${at(until, now)}.`, until };
}

function explainNoNode(run: Run, { nodesUp, lacks }: ExplainFacts): Found | undefined {
  if (!nodesUp.some(takesWork))
    return { because: "nodeDown", sentence: "No node is up; start one with `nightshift up`." };
  if (run.state !== "waiting" || run.reason !== "node") return undefined;
  return {
    because: "node",
    sentence: `No node that is up can prepare it: ${lacks ?? "something is missing"}.`,
  };
}

function explainOverlap(run: Run, facts: ExplainFacts): Found | undefined {
  const other = liveOther(run, facts.openRuns);
  if (!run.isExclusive || !other) return undefined;
  const { blocker, nodes, nodesUp, now } = facts;
  const still = `Run ${other.id} of the same job is still ${other.state}`;
  const name = nodes.find((node) => node.id === blocker?.owner)?.name;
  if (blocker && name !== undefined && !nodesUp.some((node) => node.id === blocker.owner)) {
    const until = blocker.leaseUntil;
    const sentence = `${still}: node ${name}, which holds it, seems gone; its lease ends ${at(until, now)}, then another node takes over.`;
    return { because: "lease", sentence, until, holder: name };
  }
  return {
    because: "overlap",
    sentence: `${still}${name === undefined ? "" : ` on node ${name}`}; its overlap policy lets one run at a time.`,
    holder: other.id,
  };
}

/** A task of a workflow that nobody claims: it waits for a person, or for an instant. */
function explainQuestion(run: Run): Found | undefined {
  if (run.state !== "waiting") return undefined;
  if (run.reason === "approval")
    return {
      because: "approval",
      sentence: `It waits for a person: \`nightshift run resolve ${run.id} --as succeeded\` approves, \`--as failed\` refuses.`,
    };
  if (run.reason === "time")
    return { because: "pause", sentence: "It is a pause of its workflow, and ends by itself." };
  return undefined;
}

/** W5: names what is missing and who holds it. */
function explainResources(run: Run, { lacks }: ExplainFacts): Found | undefined {
  if (run.state !== "waiting" || run.reason !== "resources" || lacks === undefined) return undefined;
  return { because: "resources", sentence: `It ${lacks}.` };
}

function explainQueue(run: Run, { queue }: ExplainFacts): Found | undefined {
  if (!queue) return undefined;
  const { name, width, running, maxConcurrentTasks, runningInAll } = queue;
  const { group } = run.admission ?? {};
  if (group && run.kind === "workflow")
    return {
      because: "group",
      sentence: `Its group ${group.key} lets ${group.max} run at once; it has its turn when one of them has ended.`,
    };
  if (width !== undefined && running >= width)
    return { because: "queueFull", sentence: `All ${width} places of the queue ${name} are taken.` };
  if (runningInAll < maxConcurrentTasks) return undefined;
  return {
    because: "queueFull",
    sentence: `${runningInAll} tasks run, and a node runs ${maxConcurrentTasks} at once (orchestrator.maxConcurrentTasks).`,
  };
}

/** The live run among the job's open ones that is not `run` itself. */
export function liveOther(run: Run, openRuns: readonly OpenRun[]): OpenRun | undefined {
  return openRuns.find((open) => open.id !== run.id && isLive(open.state));
}

function explainFull(_run: Run, { nodesUp }: ExplainFacts): Found | undefined {
  if (nodesUp.some((node) => node.liveRuns < node.maxParallelRuns)) return undefined;
  const places = nodesUp.reduce((sum, node) => sum + node.maxParallelRuns, 0);
  return {
    because: "nodesFull",
    sentence: `All ${places} places of the nodes that are up are taken (limits.maxParallelRuns).`,
  };
}

function at(until: Instant | undefined, now: Instant): string {
  if (until === undefined) return "soon";
  const distance = until - now;
  return distance > 0
    ? `in ${formatDuration(Math.ceil(distance / 1000) * 1000)}, at ${formatInstant(until)},`
    : `now`;
}
