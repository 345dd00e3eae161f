// The turns of an agent's run, told from its log: whole while it runs, after it ended, and after its node died.

import { turnsOf } from "../../agent/loop/read-lines.ts";
import type { Context } from "../context.ts";
import { eventsOfRun } from "../events-of-run.ts";
import type { TurnDocument } from "../turn-documents.ts";

/** In order; empty where the log of the run tells of none, or retention has dropped it. */
export async function runTurns(context: Pick<Context, "ledger">, runId: string): Promise<TurnDocument[]> {
  const events = await eventsOfRun(context, runId);
  return turnsOf(events).map(({ turn, text, tools, calls }) => ({
    turn,
    text,
    tools: tools.map(({ name, summary, durationMs, error, resultBytes }) => ({
      name,
      summary,
      durationMs: durationMs ?? null,
      // A call without a result: interrupted, or its node died.
      error: error === undefined ? "no result" : error,
      resultBytes: resultBytes ?? null,
    })),
    calls: calls.map(({ firstTokenMs, costUsd, ...call }) => ({
      ...call,
      firstTokenMs: firstTokenMs ?? null,
      costUsd: costUsd ?? null,
    })),
  }));
}
