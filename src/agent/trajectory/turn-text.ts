// The text forms inside a ShareGPT turn: thoughts, tool calls, tool responses, and the list of tools. Pure, both ways.
//
// I1. JSON stands on one line between its tags, so a tag inside of a string never ends it.
// @source the interchange format of Hermes' trajectories (NousResearch function calling).

import type { ToolCall, ToolMessage } from "../../records/conversation.ts";
import type { ToolSpec } from "../../records/model.ts";

const SCRATCHPAD = /^\s*<REASONING_SCRATCHPAD>([\s\S]*?)<\/REASONING_SCRATCHPAD>\s*/;
const THINK = /^\s*<think>([\s\S]*?)<\/think>\s*/;
const TOOL_CALL = /\n?<tool_call>\n(.*)\n<\/tool_call>/g;
const TOOL_RESPONSE = /<tool_response>\n(.*)\n<\/tool_response>/g;

/** The system turn: what a model is told of calling functions, in our words, and the tools. */
export function systemText(tools: readonly ToolSpec[]): string {
  const list = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
    required: null,
  }));
  return `You can call functions. Their signatures stand between <tools> tags. Call as many as you need; do not guess the value \
of an argument that you do not know. The result of each call comes back between <tool_response> tags.
<tools>
${JSON.stringify(list)}
</tools>
Write each call as one JSON object between <tool_call> tags, in this form:
{"title": "FunctionCall", "type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}, "required": ["name", "arguments"]}
<tool_call>
{"name": "<function>", "arguments": {"<argument>": "<value>"}}
</tool_call>`;
}

/** The tools that a system turn lists; undefined when it lists none that can be read. */
export function readTools(text: string): ToolSpec[] | undefined {
  const found = /<tools>\n(.*)\n<\/tools>/.exec(text)?.[1];
  const list = found === undefined ? undefined : parseJson(found);
  if (!Array.isArray(list)) return undefined;
  return list.filter(isRecord).map(({ name, description, parameters }) => ({
    name: String(name),
    description: typeof description === "string" ? description : "",
    parameters: isRecord(parameters) ? parameters : {},
  }));
}

/** A gpt turn: thoughts first (an empty block where there are none), then the text, then the calls. */
export function gptText(reply: { text: string; reasoning?: string; toolCalls: readonly ToolCall[] }): string {
  const { thoughts, text } = partThoughts(reply);
  const think = thoughts === "" ? "<think>\n</think>" : `<think>\n${thoughts}\n</think>`;
  const calls = reply.toolCalls.map(({ name, arguments: given }) => {
    const value = parseJson(given);
    return `<tool_call>\n${JSON.stringify({ name, arguments: isRecord(value) ? value : {} })}\n</tool_call>`;
  });
  return [think, ...(text === "" ? [] : [text]), ...calls].join("\n");
}

/** A gpt turn read back. Ids are not in it: `arguments` is JSON, `id` is left to the responses. */
export function readGpt(value: string): { text: string; reasoning: string; calls: Omit<ToolCall, "id">[] } {
  const think = /^<think>\n(?:([\s\S]*?)\n)?<\/think>(?:\n|$)/.exec(value);
  const rest = think ? value.slice(think[0].length) : value;
  const calls: Omit<ToolCall, "id">[] = [];
  const text = rest.replace(TOOL_CALL, (whole, json: string) => {
    const call = parseJson(json);
    if (!isRecord(call) || typeof call.name !== "string") return whole;
    calls.push({ name: call.name, arguments: JSON.stringify(call.arguments ?? {}) });
    return "";
  });
  return { text, reasoning: think?.[1] ?? "", calls };
}

/** One tool turn: all results of the gpt turn before it. */
export function toolText(results: readonly ToolMessage[]): string {
  return results
    .map(({ callId, name, text }) => {
      const response = { tool_call_id: callId, name, content: embedded(text) };
      return `<tool_response>\n${JSON.stringify(response)}\n</tool_response>`;
    })
    .join("\n");
}

/** The results of a tool turn. Content that was embedded as JSON becomes its text again. */
export function readToolTurn(value: string): { callId: string; name: string; text: string }[] {
  return [...value.matchAll(TOOL_RESPONSE)].flatMap(([, json = ""]) => {
    const response = parseJson(json);
    if (!isRecord(response)) return [];
    const { tool_call_id: callId, name, content } = response;
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return [{ callId: String(callId ?? ""), name: String(name ?? ""), text: text ?? "" }];
  });
}

/** Native reasoning, or what a model wrote of it at the head of its text. */
function partThoughts(reply: { text: string; reasoning?: string }): { thoughts: string; text: string } {
  const written = SCRATCHPAD.exec(reply.text) ?? THINK.exec(reply.text);
  const text = written ? reply.text.slice(written[0].length) : reply.text;
  return { thoughts: (reply.reasoning || (written?.[1] ?? "")).trim(), text };
}

/** Text that looks like a JSON object or list is embedded as such. */
function embedded(text: string): unknown {
  const value = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  return typeof value === "object" && value !== null ? value : text;
}

/** Undefined for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
