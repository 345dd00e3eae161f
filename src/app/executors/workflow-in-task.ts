// A workflow as the work of an executor: run inside the run of the task that called it.

import type { Outcome } from "../../records/outcome.ts";
import type { Context } from "../context.ts";
import type { DoWork } from "../work.ts";
import type { RunWorkflow } from "./room.ts";

/** `work` runs workflows. One that would wait its turn in a queue cannot do so inside a task. */
export function workflowInTask(context: Context, work: DoWork): RunWorkflow {
  return async ({ workflow, params }, call): Promise<Outcome> => {
    const now = context.clock.now();
    const job = context.resolveDocument(
      {
        id: "workflow",
        run: { workflow: { file: workflow, params } },
        timezone: call.timezone,
        ...{ deliver: [], onFailure: [], retry: { max: 0 } },
      },
      { zone: call.timezone, anchor: now, now },
    );
    const end = await work({ job, definition: undefined }, call.ctx);
    return end.state === "yielded" ? { state: "cancelled", by: "nodeStopped" } : end;
  };
}
