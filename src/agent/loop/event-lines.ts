// Agent events as lines of a run's log, so that the whole conversation is on record. Pure; read-lines.ts is the way back.
//
// I1. Streamed pieces are no lines: the message that follows holds them whole.

import type { AgentEvent } from "../../records/agent-event.ts";

export interface EventLine {
  kind: string;
  data: Record<string, unknown>;
}

/** The line of an event; undefined for streamed pieces. Text for people is in `text`. */
export function lineOf(event: AgentEvent): EventLine | undefined {
  switch (event.kind) {
    case "text-arrived":
    case "reasoning-arrived":
      return undefined;
    case "message-added":
      return { kind: event.kind, data: { turn: event.turn, ...event.message } };
    case "call-finished": {
      const { record, kind, turn } = event;
      return { kind, data: { turn, ...record } };
    }
    default: {
      const { kind, ...data } = event;
      return { kind, data: { ...data } };
    }
  }
}
