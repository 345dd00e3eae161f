// A message as an attempt: put into the outbox, which sends it (law 5). Success means that it is in there.
//
// I1. Its key is made of the task's idempotency key: an attempt that is repeated puts nothing twice (O1).

import { rowsOf } from "../../deliver/outbox-rows.ts";
import { displayTarget } from "../../deliver/targets.ts";
import { isFault, messageOf, sayFault } from "../../kernel/errors.ts";
import { outcomeOfAbort } from "../../records/abort-outcome.ts";
import type { TargetSelector } from "../../records/delivery.ts";
import type { ExecutorCall } from "../../records/executor.ts";
import type { TargetDocument } from "../../records/job.ts";
import type { Outcome } from "../../records/outcome.ts";
import type { Room } from "./room.ts";

export interface OutgoingMessage {
  to: readonly TargetDocument[];
  text: string;
}

/** Puts it and tells what became of it. Never rejects for what a person wrote. */
export async function deliverMessage(
  { context }: Room,
  { to, text }: OutgoingMessage,
  { ctx }: ExecutorCall,
): Promise<Outcome> {
  const { run } = ctx;
  let selectors: TargetSelector[];
  try {
    selectors = context.parseTargets(to);
  } catch (error) {
    return failed("preflight", isFault(error) ? sayFault(error) : messageOf(error));
  }
  if (text.trim() === "") return failed("params", "the message is empty");
  const rows = rowsOf(
    {
      ...{ subject: `${run.idempotencyKey}/message`, kind: "result", runId: run.id, jobId: run.jobId },
      ...{ selectors, text },
    },
    { ...context.rowsFor(undefined), mirror: [] },
  );
  if (!(await ctx.begin())) return outcomeOfAbort(ctx.abortReason() ?? { kind: "cancel", by: "beforeStart" });
  await context.ledger.putDeliveries(rows, await context.ledger.now());
  await context.ledger.wakeOthers();
  return outcomeOfRows(await putRows(context, run.id, new Set(rows.map(({ key }) => key))));
}

async function putRows({ ledger }: Room["context"], runId: string, keys: ReadonlySet<string>) {
  const rows = await ledger.deliveries({ runId, limit: 500 });
  return rows.filter(({ key }) => keys.has(key));
}

function outcomeOfRows(rows: Awaited<ReturnType<typeof putRows>>): Outcome {
  const deliveries = rows.map(({ id, target, state, error }) => ({
    id,
    target: displayTarget(target),
    state,
    ...(error !== undefined && { error }),
  }));
  const isStuck = deliveries.some(({ state }) => state === "dead");
  const result = { status: isStuck ? "warning" : "ok", deliveries };
  return { state: "succeeded", output: "", isSilent: true, result };
}

function failed(code: string, message: string): Outcome {
  return { state: "failed", error: { code, message } };
}
