// The whole log of one run, page by page.

import type { RunEvent } from "../records/run.ts";
import type { Context } from "./context.ts";

const PAGE = 1_000;

/** In order; empty where retention has dropped it. */
export async function eventsOfRun({ ledger }: Pick<Context, "ledger">, runId: string): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.sequence ?? 0;
    const page = await ledger.events({ runId, after, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}
