// Which runs a pass may start in the transaction that claims them (L3): work of this process, which has nothing to
// prepare. A second commit would only say again what the first one could.

import type { PassRequest } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";

/**
 * Workflows, and tasks whose executor is part of this program. Not slots on PostgreSQL: their start is counted on the
 * job's cursor, which other nodes lock before the run, not after it. A workflow that had begun goes on in any case.
 */
export function startsAtOnce(
  context: Pick<Context, "ledger" | "parseJob" | "work" | "executors">,
): NonNullable<PassRequest["startsAtOnce"]> {
  return (run, definition) => {
    if (run.kind === "workflow" && (run.startedAt !== undefined || run.slot === undefined)) return true;
    if (run.kind === "workflow") return context.ledger.engine === "sqlite";
    if (!definition) return false;
    if (context.ledger.engine === "postgres" && run.slot !== undefined) return false;
    try {
      const { work } = context.parseJob(definition);
      return (
        work.kind === "task" &&
        (context.work.task !== undefined || context.executors.isInProcess(work.executor))
      );
    } catch {
      // The run's own preflight refuses it with a sentence.
      return false;
    }
  };
}
