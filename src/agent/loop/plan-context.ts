// What to leave out of a conversation that would outgrow the model's context. Pure: messages and sizes in, a plan out.
//
// I1. The head (system messages, the first user message) and the tail (the last turns) stay whole.
// I2. A call is never parted from its results: what is left out is whole turns.
// I3. A plan never makes the conversation larger. One whose head, tail and summary fit the room makes all of it fit.

import type { Message, ToolMessage } from "../../records/conversation.ts";

/** All in tokens, as `sizeOf` counts them. */
export interface ContextLimits {
  /** Beyond it something must go. */
  room: number;
  /** What is then aimed at, so that not every turn has to (each change costs the provider's cache). */
  target: number;
  /** Turns at the end that stay whole, at most half the room of them, at least the last. Default of the loop: 4. */
  keepTurns: number;
  /** Newest tool results that are never elided. */
  keepResults: number;
  /** What a summary, or the note in its place, may take. */
  summaryTokens: number;
}

export interface ContextPlan {
  /** Tool messages that become notes, oldest first. */
  elide: readonly number[];
  /** Messages [from, to) that one summary stands for. */
  summarise: { from: number; to: number } | undefined;
  /** What eliding wins. */
  savedTokens: number;
}

export type SizeOf = (message: Message) => number;

const NOTHING: ContextPlan = { elide: [], summarise: undefined, savedTokens: 0 };

/** First old tool results give way, oldest first; if that is not enough, the oldest turns of the middle are summarised. */
export function planContext(
  messages: readonly Message[],
  sizeOf: SizeOf,
  limits: ContextLimits,
): ContextPlan {
  const sizes = messages.map(sizeOf);
  const total = sum(sizes);
  if (total <= limits.room) return NOTHING;
  const middle = middleOf(messages, sizes, limits);
  const elide: number[] = [];
  let left = total;
  for (const index of elidable(messages, middle, limits.keepResults)) {
    if (left <= limits.target) break;
    const saved = (sizes[index] ?? 0) - sizeOf(noteFor(messages[index]));
    if (saved <= 0) continue;
    elide.push(index);
    sizes[index] = (sizes[index] ?? 0) - saved;
    left -= saved;
  }
  const summarise = left > limits.room ? regionOf(messages, sizes, { middle, left, limits }) : undefined;
  return { elide, summarise, savedTokens: total - left };
}

/** The conversation with the planned results replaced by notes. */
export function elideResults(messages: readonly Message[], indexes: readonly number[]): Message[] {
  const chosen = new Set(indexes);
  return messages.map((message, index) => (chosen.has(index) ? noteFor(message) : message));
}

/** The conversation with one user message in place of a region. */
export function replaceRegion(
  messages: readonly Message[],
  region: { from: number; to: number },
  text: string,
): Message[] {
  return [
    ...messages.slice(0, region.from),
    { role: "user", origin: "summary", text },
    ...messages.slice(region.to),
  ];
}

/** Start of each turn from `from` on: an assistant's message with its results, or a user's message. */
function turnStarts(messages: readonly Message[], from: number): number[] {
  const starts: number[] = [];
  for (let index = from; index < messages.length; index++) {
    if (messages[index]?.role !== "tool" || starts.length === 0) starts.push(index);
  }
  return starts;
}

/** What lies between the head and the tail. */
function middleOf(
  messages: readonly Message[],
  sizes: readonly number[],
  { room, keepTurns }: ContextLimits,
): { from: number; to: number } {
  const from = headEnd(messages);
  let to = messages.length;
  let kept = 0;
  let tokens = 0;
  for (const start of turnStarts(messages, from).reverse()) {
    tokens += sum(sizes.slice(start, to));
    if (kept >= keepTurns || (kept > 0 && tokens > room / 2)) break;
    to = start;
    if (messages[start]?.role === "assistant") kept += 1;
  }
  return { from, to };
}

function headEnd(messages: readonly Message[]): number {
  const system = messages.findIndex(({ role }) => role !== "system");
  if (system < 0) return messages.length;
  return messages[system]?.role === "user" ? system + 1 : system;
}

function elidable(
  messages: readonly Message[],
  middle: { from: number; to: number },
  keepResults: number,
): number[] {
  const results = messages.flatMap(({ role }, index) => (role === "tool" ? [index] : []));
  return results
    .slice(0, Math.max(0, results.length - keepResults))
    .filter((index) => index >= middle.from && index < middle.to);
}

/** As many of the middle's oldest turns as it takes to come down to the target; undefined when a summary would win nothing. */
function regionOf(
  messages: readonly Message[],
  sizes: readonly number[],
  { middle, left, limits }: { middle: { from: number; to: number }; left: number; limits: ContextLimits },
): ContextPlan["summarise"] {
  const borders = [...turnStarts(messages, middle.from).filter((start) => start < middle.to), middle.to];
  let saved = -limits.summaryTokens;
  for (let index = 1; index < borders.length; index++) {
    const to = borders[index] ?? middle.to;
    saved += sum(sizes.slice(borders[index - 1], to));
    if (left - saved <= limits.target) return { from: middle.from, to };
  }
  return saved > 0 ? { from: middle.from, to: middle.to } : undefined;
}

/** What stands for an elided result: JSON, as a result is, and whether it was an error. */
function noteFor(message: Message | undefined): ToolMessage {
  if (message?.role !== "tool") throw new Error("invariant broken: only a tool's result is elided");
  if (message.isElided) return message;
  const length = message.text.length.toLocaleString("en");
  const note = `The result (${length} characters) was left out to make room. Call the tool again if you need it.`;
  const error = /^\{"error":"/.test(message.text) ? "The call had failed." : null;
  return { ...message, isElided: true, text: JSON.stringify({ error, note }) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
