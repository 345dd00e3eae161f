// Lines of an agent's log as people read them. The log itself holds everything; --json prints it.

import type { RunEvent } from "../records/run.ts";
import { duration, firstLine } from "./format.ts";

/** Undefined for what is no agent's event, or speaks for itself. */
export function agentEventText({ kind, data }: RunEvent): string | undefined {
  const text = (name: string) => (typeof data[name] === "string" ? (data[name] as string) : "");
  const number = (name: string) => (typeof data[name] === "number" ? (data[name] as number) : 0);
  switch (kind) {
    case "agent-started":
      return `· agent-started model=${text("model")} tools=${list(data.tools)}`;
    case "call-finished": {
      const usage = data.usage as { inputTokens?: number; outputTokens?: number } | undefined;
      const tokens = `${usage?.inputTokens ?? 0} → ${usage?.outputTokens ?? 0} tokens`;
      const end = data.end === "done" ? "" : ` ${text("end")} (${text("errorClass")})`;
      return `· ${text("model")} ${duration(number("durationMs"))} ${tokens}${end}`;
    }
    case "message-added":
      return data.role === "tool" ? `  ↳ ${firstLine(text("text"))}` : saidText(text("text"));
    case "tool-started":
      return `→ ${(data.call as { name?: string } | undefined)?.name ?? ""} ${text("summary")}`;
    case "tool-finished": {
      const error = text("error");
      return `← ${text("name")} ${duration(number("durationMs"))}${error === "" ? "" : ` ✗ ${firstLine(error)}`}`;
    }
    default:
      return undefined;
  }
}

function saidText(text: string): string {
  return text.trim() === "" ? "  (no words)" : `  ${text.trimEnd()}`;
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : "";
}
