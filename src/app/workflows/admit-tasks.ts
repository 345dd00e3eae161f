// Which waiting tasks a node starts: queues and groups by the pure rules of orchestrate/queues, resources by what is free.

import { type AdmitSettings, admit, type Group, queueOf } from "../../orchestrate/queues/admit.ts";
import type { AdmitTasks, TaskAdmission, TaskView } from "../../records/ledger/workflows.ts";
import type { Run } from "../../records/run.ts";
import { WORKFLOWS_QUEUE } from "./task-rows.ts";

export interface AdmitDeps {
  /** W4; read at each pass, since the config may change. */
  settings(): AdmitSettings;
  /** How many further tasks this node may run. */
  capacity(): number;
  /** What this node lacks for a task beside these live ones of all nodes; undefined = it can take it. */
  lacks(run: Run, running: readonly Run[]): string | undefined;
}

/** The pass's question, answered for this node. Pure as far as `deps` are. */
export function makeAdmitTasks(deps: AdmitDeps): AdmitTasks {
  return (view) => {
    const workflows = answerOf(view, ({ queue }) => queue === WORKFLOWS_QUEUE, {
      ...{ settings: WORKFLOWS, capacity: Number.POSITIVE_INFINITY, lacks: () => undefined },
    });
    const tasks = answerOf(view, ({ queue }) => queue !== WORKFLOWS_QUEUE, {
      settings: deps.settings(),
      capacity: deps.capacity(),
      lacks: (run, started) => deps.lacks(run, [...started, ...view.running]),
    });
    return {
      start: [...workflows.start, ...tasks.start],
      skip: [...workflows.skip, ...tasks.skip],
      cancel: [...workflows.cancel, ...tasks.cancel],
      blocked: tasks.blocked,
    };
  };
}

const WORKFLOWS: AdmitSettings = {
  queues: [{ name: WORKFLOWS_QUEUE, priority: 0, width: Number.POSITIVE_INFINITY }],
  maxConcurrent: Number.POSITIVE_INFINITY,
};

interface Answering {
  settings: AdmitSettings;
  capacity: number;
  lacks(run: Run, started: readonly Run[]): string | undefined;
}

/** A task that does not fit leaves its place to the next: the rules are asked again without it. */
function answerOf(
  view: TaskView,
  isMine: (run: Run) => boolean,
  { settings, capacity, lacks }: Answering,
): TaskAdmission {
  const running = view.running.filter(isMine);
  const blocked: { runId: string; lacks: string }[] = [];
  let waiting = view.waiting.filter(isMine);
  for (;;) {
    const answer = admit(
      // The ceiling is this node's; queues and groups are shared by all.
      { ...settings, maxConcurrent: running.length + Math.max(0, capacity) },
      {
        waiting: waiting.map(waitingTask),
        running: running.map((run) => runningTask(run, settings)),
        starts: view.starts,
      },
      view.now,
    );
    const byId = new Map(waiting.map((run) => [run.id, run]));
    const chosen = answer.start.flatMap(({ id }) => byId.get(id) ?? []);
    const misfit = firstMisfit(chosen, lacks);
    if (!misfit) {
      return {
        start: chosen.map(({ id }) => id),
        skip: answer.skip.map(({ id }) => id),
        cancel: answer.cancel.map(({ id, group }) => ({ runId: id, by: `concurrency ${group}` })),
        blocked,
      };
    }
    blocked.push(misfit);
    waiting = waiting.filter(({ id }) => id !== misfit.runId);
  }
}

function firstMisfit(
  chosen: readonly Run[],
  lacks: Answering["lacks"],
): { runId: string; lacks: string } | undefined {
  for (const [index, run] of chosen.entries()) {
    const what = lacks(run, chosen.slice(0, index));
    if (what !== undefined) return { runId: run.id, lacks: what };
  }
  return undefined;
}

const groupOf = ({ admission }: Run): Group | undefined => admission?.group;

function waitingTask(run: Run) {
  const { id, queue, admission, rootId, createdAt } = run;
  const group = groupOf(run);
  return {
    ...{ id, queue, owner: rootId, enqueuedAt: admission?.enqueuedAt ?? createdAt },
    ...(admission?.priority !== undefined && { priority: admission.priority }),
    ...(group && { group }),
  };
}

function runningTask(run: Run, settings: AdmitSettings) {
  const { id, queue, startedAt, createdAt, rootId, state } = run;
  const group = groupOf(run);
  return {
    ...{ id, queue: queueOf(settings.queues, queue).name, owner: rootId, startedAt: startedAt ?? createdAt },
    ...(group && { group: { key: group.key } }),
    isStopping: state === "cancelling",
  };
}
