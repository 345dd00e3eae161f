// What decides which tasks this node takes and who does them: what its machine has free, which others are down.

import type { ExecutorRegistry } from "../records/executor.ts";
import type { Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import { RolloutWatch } from "./executors/rollout-watch.ts";
import type { NodeLoop } from "./node-loops.ts";
import { RemoteWatch } from "./remote/remote-watch.ts";
import { ResourceKeeper } from "./resources/keeper.ts";
import { Registrations } from "./resources/registrations.ts";
import { WORKFLOWS_QUEUE } from "./workflows/task-rows.ts";

export interface TaskChoicesDeps {
  context: Context;
  nodeId: string;
  executors: ExecutorRegistry;
  /** A pass may find more to start. */
  nudge(): void;
  /** An executor has gone down or come back. */
  onHealth(): void;
}

export interface TaskChoices {
  keeper: ResourceKeeper;
  rollouts: RolloutWatch;
  lacks(run: Run, running: readonly Run[]): string | undefined;
  /** Executors whose every registration is on machines that are down (W5). */
  offlineExecutors(): ReadonlySet<string>;
  loops: readonly NodeLoop[];
  /** For processes that pass once: all that a pass asks for is known. */
  prepare(): Promise<void>;
}

export function taskChoices(deps: TaskChoicesDeps): TaskChoices {
  const { context, nodeId, executors, nudge } = deps;
  const registrations = new Registrations({
    ...{ registry: executors, log: context.log },
    onRead() {
      remotes.look();
      nudge();
    },
  });
  const remotes = new RemoteWatch({ context, nodeId, onChange: deps.onHealth });
  const rollouts = new RolloutWatch(context);
  const keeper = new ResourceKeeper({ context, nodeId, registrations, rollouts, nudge });
  return {
    keeper,
    rollouts,
    lacks: (run, running) => keeper.lacks(run, running),
    offlineExecutors: () => remotes.offline,
    loops: [rollouts, keeper, remotes],
    async prepare() {
      await rollouts.prepare();
      if (keeper.machine && registrations.isRead) return;
      const counts = await context.ledger.queueCounts();
      if (!counts.some(({ queue, waiting }) => waiting > 0 && queue !== WORKFLOWS_QUEUE)) return;
      await Promise.all([keeper.measure(), registrations.read()]);
    },
  };
}
