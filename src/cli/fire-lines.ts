// One readable line for each fire: job, slot, lateness, duration, outcome, and where the result went.

import type { Context } from "../app/context.ts";
import { runDocument } from "../app/documents.ts";
import type { NodeOptions } from "../app/node-options.ts";
import { formatInstant } from "../kernel/time.ts";
import { describeOutcome, duration, latenessOf } from "./format.ts";
import type { Io } from "./io.ts";

export interface FireLines {
  ended: NonNullable<NodeOptions["onRunEnded"]>;
  passed: NonNullable<NodeOptions["onPass"]>;
  /** Resolves when every line that was begun is printed. */
  settled(): Promise<void>;
}

/** Lines for `up`. With --json each is a document. A line that cannot be made is left out: it is only a view. */
export function makeFireLines(context: Context, io: Io): FireLines {
  const open = new Set<Promise<void>>();
  const track = (work: Promise<void>) => {
    const settled = work.catch(() => {}).finally(() => open.delete(settled));
    open.add(settled);
  };
  return {
    ended: (live, answer) => {
      if (answer === "closed") track(printRun(context, io, live.claim.runId));
    },
    passed: ({ closedSlots }) => {
      for (const { jobId, slots } of closedSlots) {
        const range =
          slots.count === 1
            ? formatInstant(slots.first)
            : `${formatInstant(slots.first)} … ${formatInstant(slots.last)} (${slots.count} slots)`;
        if (io.isJson)
          io.out(
            JSON.stringify({
              event: "slots",
              jobId,
              ...slots,
              first: formatInstant(slots.first),
              last: formatInstant(slots.last),
            }),
          );
        else io.out(`${clock(context)}  ${jobId}  slot ${range}  ${slots.state} (${slots.reason})`);
      }
    },
    settled: async () => {
      await Promise.all(open);
    },
  };
}

async function printRun(context: Context, io: Io, runId: string): Promise<void> {
  const found = await context.ledger.run(runId);
  // A workflow that goes back to the queue has not ended.
  if (!found || "ambiguous" in found || found.finishedAt === undefined) return;
  const deliveries = await context.ledger.deliveries({ runId });
  const run = runDocument(found, { deliveries });
  if (io.isJson) {
    io.out(JSON.stringify({ event: "run", run }));
    return;
  }
  // A task's end is its workflow's news: `run tree` shows it.
  if (run.unit !== null) return;
  const slot = run.slot ? `slot ${run.slot}` : run.trigger === "manual" ? "by hand" : run.trigger;
  const outcome = run.outcome ? describeOutcome(run.outcome) : run.state;
  const where = run.deliveries.map(({ kind, target }) => {
    const name = target === "local" && run.outputFile ? run.outputFile : target;
    return kind === "result" ? name : `${kind} to ${name}`;
  });
  const went = where.length > 0 ? `  → ${where.join(", ")}` : "";
  io.out(
    `${clock(context)}  ${run.jobId ?? run.work ?? run.kind}  ${slot}  ${latenessOf(run)}  took ${duration(run.durationMs)}  ${outcome}${went}`,
  );
}

function clock(context: Context): string {
  return new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: context.zone }).format(
    context.clock.now(),
  );
}
