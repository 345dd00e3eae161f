// The tool calls of one turn: those that may run side by side do, the others alone; results are added in call order.
//
// I1. Every call gets exactly one result, whatever happens, so that no call is ever parted from one.

import type { ToolCall } from "../../records/conversation.ts";
import { errorResult } from "./finalise-result.ts";
import { type Prepared, prepareCall } from "./prepare-call.ts";
import { type CallEnding, type ReadyCall, runCall } from "./run-call.ts";
import { addResult, type Session } from "./session.ts";

const SIDE_BY_SIDE = 8;
const NOT_RUN = "Not run: the run was interrupted before.";

export interface CallTally {
  calls: number;
  malformed: number;
  /** The last malformed call's error. */
  malformedError: string;
  /** The first environment fault, untouched; undefined = none. */
  fault: unknown;
}

/** `isCut`: the reply ended at its maximum length, so its last call may be unfinished. */
export async function runCalls(
  session: Session,
  calls: readonly ToolCall[],
  { isCut }: { isCut: boolean },
): Promise<CallTally> {
  const prepared = calls.map((call, index) =>
    prepareCall(session.tools, call, { isCut: isCut && index === calls.length - 1 }),
  );
  const characters = session.window.resultCharacters(calls.length);
  const endings: CallEnding[] = [];
  for (const group of groupsOf(prepared)) {
    const ended = await sideBySide(group, session.deps.limits?.parallelCalls ?? SIDE_BY_SIDE, (one) =>
      endCall(session, one, characters),
    );
    for (const [index, ending] of ended.entries()) {
      const call = group[index]?.call;
      if (call) addResult(session, call, ending.text);
    }
    endings.push(...ended);
  }
  return tallyOf(prepared, endings);
}

/** Calls that will never run, each with the reason as its result. */
export function refuseCalls(session: Session, calls: readonly ToolCall[], why: string): void {
  for (const call of calls) addResult(session, call, errorResult(why, boundsOf(session)).text);
}

async function endCall(session: Session, one: Prepared, characters: number): Promise<CallEnding> {
  if (one.kind === "malformed") return errorResult(one.error, { characters, redact: session.deps.redact });
  if (session.ctx.signal.aborted) return errorResult(NOT_RUN, boundsOf(session));
  return await runCall(session, one, characters);
}

function boundsOf(session: Session) {
  return { characters: session.window.resultCharacters(1), redact: session.deps.redact };
}

/** Neighbours that may run side by side; a malformed call runs nothing, so it parts nobody. */
function groupsOf(prepared: readonly Prepared[]): Prepared[][] {
  const groups: Prepared[][] = [];
  let wasSafe = false;
  for (const one of prepared) {
    const isSafe = one.kind === "malformed" || isParallelSafe(one);
    if (isSafe && wasSafe) groups.at(-1)?.push(one);
    else groups.push([one]);
    wasSafe = isSafe;
  }
  return groups;
}

function isParallelSafe({ tool }: ReadyCall): boolean {
  return tool.isParallelSafe;
}

/** Answers in the order of the items, at most `width` under way. */
async function sideBySide<Item, Answer>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  const waiting = items.entries();
  const drain = async () => {
    for (const [index, item] of waiting) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(Math.max(1, width), items.length) }, drain));
  return answers;
}

function tallyOf(prepared: readonly Prepared[], endings: readonly CallEnding[]): CallTally {
  const malformed = prepared.flatMap((one) => (one.kind === "malformed" ? [one.error] : []));
  return {
    calls: prepared.length,
    malformed: malformed.length,
    malformedError: malformed.at(-1) ?? "",
    fault: endings.find(({ fault }) => fault !== undefined)?.fault,
  };
}
