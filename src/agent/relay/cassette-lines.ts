// The form of a cassette: JSON lines of a run's model calls and tool results, and how two requests are compared.
//
// I1. A line stands by itself: a last line that a power cut left half written is left out.
// I2. Requests are compared as they were redacted: what is secret is never on the tape, and never the difference.

import * as z from "zod/mini";
import { Fault } from "../../kernel/errors.ts";
import type { CallRole, ModelRequest } from "../../records/model.ts";

const usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedInputTokens: z.number(),
  reasoningTokens: z.number(),
});

const reply = z.object({
  text: z.string(),
  reasoning: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.string() })),
  finish: z.enum(["stop", "toolCalls", "length", "filter", "other"]),
  usage,
  costUsd: z.optional(z.number()),
  model: z.string(),
  providerParts: z.optional(z.array(z.unknown())),
});

const chunk = z.union([
  z.object({ kind: z.enum(["text", "reasoning"]), text: z.string() }),
  z.object({ kind: z.literal("toolCall"), name: z.string() }),
  z.object({ kind: z.literal("restart") }),
]);

/** What is kept of an error: enough to fail in the same way and to be told apart from others. */
const failure = z.object({
  name: z.string(),
  message: z.string(),
  errorClass: z.string(),
  statusCode: z.optional(z.number()),
  faultCode: z.optional(z.string()),
  hint: z.optional(z.string()),
});

const lineSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("cassette"), version: z.literal(1), runId: z.string() }),
  z.object({
    kind: z.literal("call"),
    number: z.int(),
    role: z.enum(["primary", "auxiliary"]),
    provider: z.string(),
    isStreaming: z.boolean(),
    request: z.unknown(),
    chunks: z.optional(z.array(chunk)),
    reply: z.optional(reply),
    failure: z.optional(failure),
  }),
  z.object({
    kind: z.literal("tool"),
    callId: z.string(),
    name: z.string(),
    arguments: z.unknown(),
    result: z.looseObject({ error: z.nullable(z.string()) }),
  }),
]);

export type CassetteLine = z.infer<typeof lineSchema>;
export type TapedCall = Extract<CassetteLine, { kind: "call" }>;
export type TapedTool = Extract<CassetteLine, { kind: "tool" }>;

/** One line of a tape, with its end. */
export function formatLine(line: CassetteLine): string {
  return `${JSON.stringify(line)}\n`;
}

/** Reads a tape. Throws Fault `cassette.missing` for one without calls or with a line of no known form. */
export function parseCassette(text: string): CassetteLine[] {
  const rows = text.split("\n");
  const isTorn = rows.at(-1) !== "";
  const lines = (isTorn ? rows.slice(0, -1) : rows)
    .filter((row) => row !== "")
    .map((row, index) => readLine(row, index + 1));
  if (!lines.some(({ kind }) => kind === "call"))
    throw new Fault("cassette.missing", "The recording holds no call of a model", {
      hint: "Set `models.record: true` in config.yaml and run the job once.",
    });
  return lines;
}

function readLine(row: string, number: number): CassetteLine {
  let value: unknown;
  try {
    value = JSON.parse(row);
  } catch {
    // Refused below, with its number.
  }
  const parsed = lineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Fault("cassette.missing", `Line ${number} of the recording cannot be read`, {
    hint: "Record the run anew.",
  });
}

/** What of a request is compared: everything a model is told. Undefined fields are as if absent. */
export function tapedRequest(request: ModelRequest, role: CallRole): Record<string, unknown> {
  return JSON.parse(JSON.stringify({ role, ...request }));
}

/** The first place where two values differ. */
export interface Difference {
  /** `messages[3].text` */
  path: string;
  /** Short pieces around the place, as JSON; `nothing` where a side has none. */
  recorded: string;
  now: string;
}

/** Undefined = they are the same. */
export function firstDifference(recorded: unknown, now: unknown, path = ""): Difference | undefined {
  if (Object.is(recorded, now)) return undefined;
  if (typeof recorded === "string" && typeof now === "string") return textDifference(recorded, now, path);
  if (isRecord(recorded) && isRecord(now) && Array.isArray(recorded) === Array.isArray(now)) {
    for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
      const step = Array.isArray(recorded) ? `[${key}]` : path === "" ? key : `.${key}`;
      const found = firstDifference(recorded[key], now[key], path + step);
      if (found) return found;
    }
    return undefined;
  }
  return { path, recorded: excerpt(recorded), now: excerpt(now) };
}

function textDifference(recorded: string, now: string, path: string): Difference | undefined {
  if (recorded === now) return undefined;
  let at = 0;
  while (recorded[at] === now[at]) at++;
  const from = Math.max(0, at - 20);
  return { path, recorded: excerpt(recorded.slice(from)), now: excerpt(now.slice(from)) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function excerpt(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
