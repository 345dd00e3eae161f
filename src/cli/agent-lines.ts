// An agent run as a person sees it while it works: its words on stdout as they come, its tools on stderr.

import type { AgentEvent } from "../records/agent-event.ts";
import { duration } from "./format.ts";
import type { Io } from "./io.ts";

export interface AgentLines {
  on(event: AgentEvent): void;
  /** Ends an open line. */
  end(): void;
  /** Whether the answer has been on the screen already. */
  readonly hasSpoken: boolean;
}

/** With --json nothing is told: stdout is for the document alone. */
export function makeAgentLines(io: Io): AgentLines {
  let isLineOpen = false;
  let hasSpoken = false;
  const endLine = () => {
    if (isLineOpen) process.stdout.write("\n");
    isLineOpen = false;
  };
  return {
    on(event) {
      if (io.isJson) return;
      if (event.kind === "text-arrived") {
        hasSpoken = true;
        isLineOpen = !event.text.endsWith("\n");
        process.stdout.write(event.text);
        return;
      }
      const line = lineOf(event);
      if (line === undefined) return;
      endLine();
      io.note(line);
    },
    end: endLine,
    get hasSpoken() {
      return hasSpoken;
    },
  };
}

function lineOf(event: AgentEvent): string | undefined {
  switch (event.kind) {
    case "tool-started":
      return `· ${event.call.name} ${event.summary}`;
    case "tool-finished":
      return `  ${event.error === null ? "done" : `error: ${event.error}`} after ${duration(event.durationMs)}`;
    case "reply-restarted":
      return "· the answer broke off and is asked for anew";
    case "context-summarised":
      return `· ${event.messages} messages became a summary (${event.beforeTokens} → ${event.afterTokens} tokens)`;
    case "agent-finished": {
      const tokens = event.usage.inputTokens + event.usage.outputTokens;
      const cost = event.costUsd === undefined ? "" : `, $${event.costUsd.toFixed(4)}`;
      return `· ${event.turns} turns, ${event.calls} calls, ${tokens} tokens${cost}`;
    }
    default:
      return undefined;
  }
}
