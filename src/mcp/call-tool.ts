// One tool call: arguments read, work done, the result redacted and given in both forms (structured, and as text).
//
// I1. Whatever goes wrong is an answer that says what to do (`isError`), never a broken session.
// I2. Redaction is the last thing before the result leaves (law 7).

import type { Context } from "../app/context.ts";
import { isFault, messageOf, sayFault } from "../kernel/errors.ts";
import { mapRecord } from "../kernel/redact-value.ts";
import type { Tool, ToolContext, ToolResult } from "../records/tool.ts";

export interface ToolCallResult {
  [key: string]: unknown;
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
  isError: boolean;
}

export interface ToolCall {
  tool: Tool;
  args: unknown;
  context: ToolContext;
  /** Sentences for the caller, beside what the tool says. */
  notes: readonly string[];
}

/** Never rejects. */
export async function callTool(
  context: Pick<Context, "log" | "redact">,
  call: ToolCall,
): Promise<ToolCallResult> {
  const result = await resultOf(context, call);
  const own = Array.isArray(result.notes) ? result.notes : [];
  const told = call.notes.length > 0 ? { ...result, notes: [...call.notes, ...own] } : result;
  const structuredContent = mapRecord(told, context.redact);
  return {
    content: [{ type: "text", text: JSON.stringify(structuredContent) }],
    structuredContent,
    isError: result.error !== null,
  };
}

async function resultOf(
  { log }: Pick<Context, "log">,
  { tool, args, context }: ToolCall,
): Promise<ToolResult> {
  const prepared = tool.prepare(args ?? {});
  if (!prepared.ok) return { error: prepared.error, code: "input.invalid" };
  try {
    return await prepared.call.run(context);
  } catch (error) {
    if (isFault(error)) return { error: sayFault(error), code: error.code, hint: error.hint };
    if (context.signal.aborted) return { error: "The call was cancelled.", code: "cancelled" };
    log.error("mcp-call-failed", { tool: tool.name, error: messageOf(error) });
    return { error: `${tool.name} failed: ${messageOf(error)}`, code: "internal" };
  }
}
