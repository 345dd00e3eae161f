// Workflows as a kind of work, and the live ones of a node. What runs them is loaded with the first: others never pay for it.

import type { ExecutorRegistry } from "../records/executor.ts";
import type { DoWork } from "./work.ts";
import type { NodeForWorkflows } from "./workflows/run-deps.ts";
import type { WorkflowRun } from "./workflows/workflow-run.ts";

export interface WorkflowsOfNode {
  work: DoWork;
  /** A task of this run has ended here: it looks at once. */
  wake(runId: string | undefined): void;
  /** The ledger has changed somewhere: all look soon. */
  nudge(): void;
}

export function workflowsOfNode(node: NodeForWorkflows & { executors: ExecutorRegistry }): WorkflowsOfNode {
  const live = new Map<string, WorkflowRun>();
  const watch = (runId: string, run: WorkflowRun) => {
    live.set(runId, run);
    return () => void live.delete(runId);
  };
  return {
    async work(input, ctx) {
      const [{ runWorkflow }, { makeRunDeps }, { openPins }] = await Promise.all([
        import("./workflows/run-workflow.ts"),
        import("./workflows/run-deps.ts"),
        import("./workflows/pinned-versions.ts"),
      ]);
      const { context, executors } = node;
      const pins = await openPins(node, ctx.run.id);
      const runDeps: Parameters<typeof runWorkflow>[0]["runDeps"] = (planned) =>
        makeRunDeps(node, planned, { input, ctx, pins });
      return runWorkflow({ context, executors, watch, runDeps }, input, ctx);
    },
    wake: (runId) => (runId === undefined ? undefined : live.get(runId)?.wake()),
    nudge() {
      for (const run of live.values()) run.nudge();
    },
  };
}
