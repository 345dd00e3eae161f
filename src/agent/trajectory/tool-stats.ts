// How often tools were called and how that went, by two readings of success. Pure.

import type { Message, ToolMessage } from "../../records/conversation.ts";

export interface ToolStat {
  count: number;
  success: number;
  failure: number;
}

export interface ToolCounts {
  /** Every known tool, with zeros, so that the columns of many rows have one type. */
  stats: Record<string, ToolStat>;
  /** Failures by the stricter reading. */
  errors: Record<string, number>;
}

/**
 * Loose reading (DESIGN §13): a result is a success when its `error` is null or absent. Stricter: it also fails when it
 * is empty, says `success: false`, or begins with `error:`. An exit code other than 0 is no failure by itself.
 */
export function countTools(messages: readonly Message[], known: readonly string[]): ToolCounts {
  const stats: ToolCounts["stats"] = {};
  const errors: ToolCounts["errors"] = {};
  for (const name of [...new Set(known)].sort()) {
    stats[name] = { count: 0, success: 0, failure: 0 };
    errors[name] = 0;
  }
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const stat = own(stats, message.name);
    // A name that no tool has was the model's mistake, and would be a column of its own.
    if (!stat) continue;
    const { isFailure, isError } = judge(message);
    stat.count += 1;
    if (isFailure) stat.failure += 1;
    else stat.success += 1;
    if (isError) errors[message.name] = (errors[message.name] ?? 0) + 1;
  }
  return { stats, errors };
}

function judge({ text }: ToolMessage): { isFailure: boolean; isError: boolean } {
  const value = parse(text);
  if (typeof value !== "object" || value === null) {
    return { isFailure: false, isError: text.trim() === "" || /^\s*error:/i.test(text) };
  }
  const isFailure = "error" in value && value.error !== null && value.error !== undefined;
  return { isFailure, isError: isFailure || ("success" in value && value.success === false) };
}

function own<Value>(record: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
