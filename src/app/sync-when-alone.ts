// With no node up nobody watches jobs/: whoever asks about jobs looks at the folder first.

import type { Context } from "./context.ts";
import { syncDefinitions } from "./definition-sync.ts";
import { nodesUp } from "./nodes.ts";

/** A file that was saved this shortly ago is waited for: it counts once it has been still for a second (D2). */
const SETTLES_WITHIN_MS = 1_500;

/** One look at the job files, unless a node does that already. Throws what the store throws. */
export async function syncWhenAlone(context: Context, signal: AbortSignal): Promise<void> {
  if (context.ledger.engine === "postgres" || (await nodesUp(context)).length > 0) return;
  const { lookAgainInMs, state } = await syncDefinitions(context);
  if (lookAgainInMs === undefined || lookAgainInMs > SETTLES_WITHIN_MS) return;
  await context.clock.sleep(lookAgainInMs, signal);
  await syncDefinitions(context, state);
}
