// Makes a tool from a zod schema and a typed function: arguments are checked once, and the type is known from there on.

import * as z from "zod/mini";
import type { Preparation, Tool, ToolContext, ToolResult } from "../records/tool.ts";

export interface ToolDefinition<Schema extends z.ZodMiniObject> {
  name: string;
  toolset: string;
  description: string;
  schema: Schema;
  isParallelSafe: boolean;
  /** Default: the tool's name. */
  summarise?(input: z.infer<Schema>): string;
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
}

/** The tool a loop can hold. `prepare` refuses what does not fit, naming every mistake. */
export function defineTool<Schema extends z.ZodMiniObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, toolset, description, schema, isParallelSafe, summarise, run } = definition;
  return {
    name,
    toolset,
    description,
    parameters: z.toJSONSchema(schema, { io: "input" }),
    isParallelSafe,
    prepare(value): Preparation {
      const parsed = schema.safeParse(value);
      if (!parsed.success) return { ok: false, error: sentenceOf(name, parsed.error.issues) };
      const input = parsed.data;
      return {
        ok: true,
        call: { summary: summarise?.(input) ?? name, run: (context) => run(input, context) },
      };
    },
  };
}

function sentenceOf(name: string, issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const mistakes = issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message,
  );
  return `The arguments of ${name} do not fit: ${mistakes.join("; ")}.`;
}
