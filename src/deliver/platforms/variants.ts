// A message that a platform refused for its form or place, sent once more in another form: plain instead of marked up,
// the chat instead of a thread that is gone, the chat's new id.
//
// I1. Only after a definite refusal: then nothing arrived, so another try cannot double it.
// I2. Each step is taken once, and what was done stands in the receipt.

import type { SendResult } from "../../records/delivery.ts";
import type { PlatformAnswer, PlatformReply } from "./ask.ts";

export interface Variant {
  chat: string;
  thread: string | undefined;
  /** Without markup. */
  isPlain: boolean;
  /** A picture, film or sound goes as any other file. */
  isFile?: boolean;
  /** The id of the chat that was meant, since it moved. */
  movedTo?: string;
  notes: readonly string[];
}

/** Markup, thread, moved chat: no message needs more. */
const MAX_STEPS = 4;

/** The line that tells readers why a message stands outside its thread. */
export const THREAD_GONE = "(The thread is gone; this message was meant for it.)";

export interface Variants {
  first: Pick<Variant, "chat" | "thread">;
  send(variant: Variant): Promise<PlatformAnswer>;
  /** What else to try after this refusal; undefined = nothing. */
  next(reply: PlatformReply, variant: Variant): Variant | undefined;
  judge(answer: PlatformAnswer): SendResult;
}

export async function sendVariants({ first, send, next, judge }: Variants): Promise<SendResult> {
  let variant: Variant = { ...first, isPlain: false, notes: [] };
  for (let step = 1; ; step++) {
    const answer = await send(variant);
    const other = answer.kind === "answered" && step < MAX_STEPS ? next(answer, variant) : undefined;
    if (!other) return noted(judge(answer), variant);
    variant = other;
  }
}

/** The same without markup, unless that was tried. */
export function asPlain(variant: Variant): Variant | undefined {
  if (variant.isPlain) return undefined;
  return {
    ...variant,
    isPlain: true,
    notes: [...variant.notes, "the markup was refused: sent as plain text"],
  };
}

/** The same as a file, unless that was tried. */
export function asFile(variant: Variant): Variant | undefined {
  if (variant.isFile) return undefined;
  return { ...variant, isFile: true, notes: [...variant.notes, "the picture was refused: sent as a file"] };
}

/** The same outside its thread, unless it has none. */
export function toChat(variant: Variant): Variant | undefined {
  if (variant.thread === undefined) return undefined;
  const notes = [...variant.notes, `thread ${variant.thread} is gone: sent to the chat`];
  return { ...variant, thread: undefined, notes };
}

/** A body that fell out of its thread says so. */
export function withThreadNote(body: string, variant: Variant, wanted: string | undefined): string {
  return wanted !== undefined && variant.thread === undefined ? `${THREAD_GONE}\n\n${body}` : body;
}

/** The same in the chat's new place. */
export function toMoved(variant: Variant, chat: string): Variant {
  const note = `the chat moved: its id is now ${chat}; change it where it is written`;
  return { ...variant, chat, movedTo: chat, notes: [...variant.notes, note] };
}

function noted(result: SendResult, { notes, movedTo }: Variant): SendResult {
  if (result.kind !== "delivered" || notes.length === 0) return result;
  const note = notes.join("; ");
  return { ...result, receipt: { ...result.receipt, note, ...(movedTo !== undefined && { movedTo }) } };
}
