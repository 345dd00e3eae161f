// The form of workflows on the wire.

import * as z from "zod/mini";
import { GRAPH_FORMATS, type WorkflowListItem } from "../../app/workflows/workflows.ts";

export const workflowSchema = z.strictObject({
  name: z.string(),
  description: z.nullable(z.string()),
  tasks: z.int(),
  params: z.array(z.string()),
  error: z.nullable(z.string()),
}) satisfies z.ZodMiniType<WorkflowListItem>;

export const graphSchema = z.strictObject({ format: z.enum(GRAPH_FORMATS), graph: z.string() });

export const workflowRunSchema = z.strictObject({
  params: z.optional(z.record(z.string(), z.unknown())),
  deliver: z.optional(z.array(z.string())),
});

export const taskSchema = z.strictObject({
  params: z.optional(z.record(z.string(), z.unknown())),
  queue: z.optional(z.string()),
  priority: z.optional(z.int()),
  version: z.optional(z.string()),
  deliver: z.optional(z.array(z.string())),
});
