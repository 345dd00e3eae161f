// An agent's turns as lines: what it said, which tools it called and how long they took, what the calls cost.

import type { TurnDocument } from "../app/turn-documents.ts";
import type { Usage } from "../records/outcome.ts";
import { duration, firstLine } from "./format.ts";

/** One line for each turn and each of its tool calls. */
export function turnLines(turns: readonly TurnDocument[]): string[] {
  return turns.flatMap((turn) => [turnLine(turn), ...turn.tools.map((tool) => `  ${toolLine(tool)}`)]);
}

function turnLine({ turn, text, calls }: TurnDocument): string {
  const asked = calls.map(({ model, role, durationMs, inputTokens, outputTokens, costUsd, end }) =>
    [
      role === "primary" ? model : `${model} (${role})`,
      duration(durationMs),
      `${inputTokens} → ${outputTokens} tokens`,
      ...(costUsd === null ? [] : [money(costUsd)]),
      ...(end === "done" ? [] : [end]),
    ].join(", "),
  );
  const words = text.trim() === "" ? "" : `  ${firstLine(text)}`;
  return `turn ${turn}  ${asked.join("; ")}${words}`.trimEnd();
}

function toolLine({ name, summary, durationMs, error }: TurnDocument["tools"][number]): string {
  const took = durationMs === null ? "" : `  ${duration(durationMs)}`;
  return `${name} ${summary === name ? "" : summary}${took}${error === null ? "" : `  ✗ ${firstLine(error)}`}`;
}

/** `2 turns, 3 calls, 1,200 in, 80 out, $0.0042`; empty where nothing was used. */
export function usageText(usage: Usage | null): string {
  if (usage?.tokensIn === undefined) return "";
  const { turns, modelCalls, tokensIn, tokensOut = 0, tokensReserved, costUsd } = usage;
  return [
    ...(turns === undefined ? [] : [`${turns} turns`]),
    ...(modelCalls === undefined ? [] : [`${modelCalls} model calls`]),
    `${tokensIn} tokens in, ${tokensOut} out`,
    ...(tokensReserved === undefined ? [] : [`${tokensReserved} reserved and counted as spent`]),
    ...(costUsd === undefined ? [] : [money(costUsd)]),
  ].join(", ");
}

function money(usd: number): string {
  return `$${usd.toFixed(usd < 0.01 ? 5 : 4)}`;
}
