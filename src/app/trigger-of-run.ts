// The event from outside that set a run off (W7), as its work sees it.

import type { Run } from "../records/run.ts";
import { type TriggerEventDocument, triggerEventDocument } from "../records/trigger.ts";
import type { Context } from "./context.ts";

/** Undefined = no event did: a schedule, or a person. A task is asked of its root. */
export async function triggerOfRun(
  context: Pick<Context, "ledger">,
  run: Pick<Run, "id" | "rootId" | "eventId">,
): Promise<TriggerEventDocument | undefined> {
  const eventId = run.eventId ?? (await eventOfRoot(context, run));
  const event = eventId === undefined ? undefined : await context.ledger.triggerEvent(eventId);
  return event && triggerEventDocument(event);
}

/** The event of the run itself, as people may see it (law 7). */
export async function shownEvent(
  context: Pick<Context, "ledger" | "redact">,
  { eventId }: Pick<Run, "eventId">,
): Promise<TriggerEventDocument | null> {
  const event = eventId === undefined ? undefined : await context.ledger.triggerEvent(eventId);
  return event ? triggerEventDocument({ ...event, data: context.redact(event.data) }) : null;
}

async function eventOfRoot(
  { ledger }: Pick<Context, "ledger">,
  { id, rootId }: Pick<Run, "id" | "rootId">,
): Promise<string | undefined> {
  if (id === rootId) return undefined;
  const root = await ledger.run(rootId);
  return root && "id" in root ? root.eventId : undefined;
}
