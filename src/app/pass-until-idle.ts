// For processes without a scheduler's loop (`tick`, `job run --here`): a workflow's tasks become ready while it runs.

import { linkAbort } from "../kernel/abort.ts";
import type { PassResult } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import type { Runner } from "./runner.ts";
import type { PassReport } from "./scheduler.ts";
import { waitForChange } from "./wait-for-change.ts";

/** What passes did, summed. */
export type Counted = { started: string[]; closedSlots: number };

export function count(done: Counted, { claimed, closedSlots }: PassResult): void {
  done.started.push(...claimed.map(({ run }) => run.id));
  done.closedSlots += closedSlots.reduce((sum, { slots }) => sum + slots.count, 0);
}

export interface PassUntilIdleDeps {
  context: Context;
  runner: Pick<Runner, "whenIdle">;
  passOnce(): Promise<PassReport>;
  onPassed(report: PassReport): void;
}

/** Passes whenever something has changed, until nothing runs here. Resolves at once where nothing does. */
export async function passUntilIdle({
  context,
  runner,
  passOnce,
  onPassed,
}: PassUntilIdleDeps): Promise<void> {
  const over = linkAbort();
  const idle = runner.whenIdle().then(() => over.abort("idle"));
  try {
    for (;;) {
      await waitForChange(context, { signal: over.signal });
      if (over.signal.aborted) return;
      onPassed(await passOnce());
    }
  } finally {
    await idle;
  }
}
