// Where an agent's events go: the run's log, and whoever watches.

import { lineOf } from "../../agent/loop/event-lines.ts";
import type { AgentEvent, EmitAgentEvent } from "../../records/agent-event.ts";
import type { ModelCallRecord } from "../../records/model.ts";
import type { RunContext } from "../../records/run-context.ts";

export interface Telling {
  emit: EmitAgentEvent;
  /** A logical call has ended: the relay saw it. */
  called(record: ModelCallRecord): void;
}

/** Every event is told once, in order; a watcher that throws is the watcher's own affair. */
export function tellEvents(
  ctx: Pick<RunContext, "run" | "emit">,
  onEvent: ((event: AgentEvent, runId: string) => void) | undefined,
): Telling {
  let turn = 0;
  const emit = (event: AgentEvent) => {
    if (event.kind === "turn-started") turn = event.turn;
    const line = lineOf(event);
    if (line) ctx.emit(line.kind, line.data);
    onEvent?.(event, ctx.run.id);
  };
  return { emit, called: (record) => emit({ kind: "call-finished", turn, record }) };
}
