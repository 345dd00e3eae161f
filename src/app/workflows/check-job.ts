// A workflow job before it counts (law 8): its file is there and sound, and its params fit.

import type { Context } from "../context.ts";
import { fillParams } from "./begin-run.ts";
import { planChecked, readWorkflow, type WorkflowReference } from "./workflow-source.ts";

/** Throws `input.not-found`, `job.yaml`, `workflow.invalid`, `input.invalid`; returns warnings. */
export async function checkJobWorkflow(
  context: Context,
  reference: WorkflowReference,
): Promise<readonly string[]> {
  const reading = await readWorkflow(context, reference);
  const { workflow, warnings } = await planChecked({ context, executors: context.executors }, reading);
  fillParams(workflow, reference.params ?? {});
  return warnings;
}
