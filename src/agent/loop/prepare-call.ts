// The first step of a tool call: what a model wrote becomes a call that can be run, or a sentence it can mend. Pure.

import { nearestWord } from "../../kernel/errors.ts";
import type { ToolCall } from "../../records/conversation.ts";
import type { PreparedCall, Tool } from "../../records/tool.ts";

export type Prepared =
  | { kind: "ready"; call: ToolCall; tool: Tool; prepared: PreparedCall }
  /** An unknown tool, or arguments that are no JSON or do not fit. `error` is for the model. */
  | { kind: "malformed"; call: ToolCall; error: string };

/** `isCut`: the reply reached its maximum length in this call, so what is not readable is unfinished. */
export function prepareCall(
  tools: ReadonlyMap<string, Tool>,
  call: ToolCall,
  { isCut }: { isCut: boolean },
): Prepared {
  const malformed = (error: string): Prepared => ({ kind: "malformed", call, error });
  const tool = tools.get(call.name);
  if (!tool) return malformed(unknownTool(call.name, [...tools.keys()]));
  const read = readArguments(call, isCut);
  if (!read.ok) return malformed(read.error);
  try {
    const preparation = tool.prepare(read.value);
    if (!preparation.ok) return malformed(preparation.error);
    return { kind: "ready", call, tool, prepared: preparation.call };
  } catch (error) {
    // A bug of the tool, not of the model: told where tools that throw are told.
    return { kind: "ready", call, tool, prepared: { summary: "", run: () => Promise.reject(error) } };
  }
}

function readArguments(
  { name, arguments: text }: ToolCall,
  isCut: boolean,
): { ok: true; value: object } | { ok: false; error: string } {
  // Some models write nothing where they have no argument to give.
  if (text.trim() === "" && !isCut) return { ok: true, value: {} };
  const value = parseJson(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ok: true, value };
  if (isCut) return { ok: false, error: cutCall(name) };
  const what = value === undefined ? "no JSON" : "no JSON object";
  return {
    ok: false,
    error: `The arguments of ${name} are ${what}. Send one JSON object that fits its schema.`,
  };
}

/** Undefined for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cutCall(name: string): string {
  return `The call of ${name} was cut off: the reply reached its maximum length. Nothing was done. Send less at once.`;
}

function unknownTool(name: string, known: readonly string[]): string {
  const shown = name.slice(0, 60);
  const nearest = nearestWord(shown, known);
  const hint = nearest ? ` Did you mean ${nearest}?` : "";
  const list = known.length > 0 ? ` There are: ${known.join(", ")}.` : " No tools are available.";
  return `There is no tool named "${shown}".${hint}${list}`;
}
