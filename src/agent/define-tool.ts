// Makes a tool from a zod schema and a typed function: arguments are checked once, and the type is known from there on.

import * as z from "zod/mini";
import type { $ZodIssue } from "zod/v4/core";
import { issuesOf } from "../records/document-issues.ts";
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

/**
 * The tool a loop can hold. `prepare` refuses what does not fit, naming every mistake. A key that is null counts as
 * left out: that is how several providers spell an optional argument.
 */
export function defineTool<Schema extends z.ZodMiniObject>(definition: ToolDefinition<Schema>): Tool {
  const { name, toolset, description, schema, isParallelSafe, summarise, run } = definition;
  return {
    name,
    toolset,
    description,
    parameters: z.toJSONSchema(schema, { io: "input" }),
    isParallelSafe,
    prepare(value): Preparation {
      const given = withoutNulls(value);
      const parsed = schema.safeParse(given);
      if (!parsed.success) {
        const mistakes = parsed.error.issues.flatMap((issue) => wordIssue(issue, given, schema));
        return { ok: false, error: `The arguments of ${name} do not fit: ${mistakes.map(ended).join(" ")}` };
      }
      const input = parsed.data;
      return {
        ok: true,
        call: { summary: summarise?.(input) ?? name, run: (context) => run(input, context) },
      };
    },
  };
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

/** A refinement speaks for itself; everything else is worded as in a person's document. */
function wordIssue(issue: $ZodIssue, value: unknown, schema: z.ZodMiniObject): string[] {
  if (issue.code === "custom") return [`${issue.path.map(String).join(".")} ${issue.message}`.trim()];
  if (issue.path.length === 0 && issue.code === "invalid_type") return ["they must be a JSON object"];
  return issuesOf([issue], value, schema).map(({ what, hint }) => `${what}; ${hint}`);
}

const ended = (sentence: string) => (/[.!?…]$/.test(sentence) ? sentence : `${sentence}.`);
