// An event from outside becomes runs (W7): the one way in for every kind of trigger.

import { createHash } from "node:crypto";
import { Fault } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import type { JobView } from "../records/ledger/slots.ts";
import {
  type JobTrigger,
  type Trigger,
  type TriggerEvent,
  triggerEventDocument,
  triggerText,
} from "../records/trigger.ts";
import { makeDecideEvent } from "../schedule/decide-event.ts";
import type { Context } from "./context.ts";
import { traitsOf, withEventTraits } from "./run-traits.ts";

/** A longer key, or one with other signs, is told by its digest. */
const PLAIN_KEY = /^[\w.:@+/=-]{1,200}$/;

export interface IncomingEvent {
  trigger: Trigger;
  /** The sender's own name for it: whatever repeats it is the same event. Undefined = it is told from no other. */
  key: string | undefined;
  /** As it came, bounded by the caller. */
  data: string;
  contentType?: string | undefined;
  /** By lower-case names, without what proves who sent it. */
  headers?: Readonly<Record<string, string>>;
}

export interface FiredDocument {
  event: { id: string; key: string; receivedAt: string };
  /** False = it had come before, and started nothing now. */
  isNew: boolean;
  runs: { jobId: string | null; runId: string; state: string; reason: string | null }[];
}

/**
 * One run per event of each job that listens, by the job's overlap rule; what does not run is a `skipped` run with the
 * reason. A repetition starts nothing and answers with the runs of the first time.
 * Throws `input.not-found` (no job listens), `input.conflict` (the key is another event's).
 */
export async function fireEvent(context: Context, incoming: IncomingEvent): Promise<FiredDocument> {
  const { ledger } = context;
  const { trigger } = incoming;
  const now = await ledger.now();
  const listening = await listeners(context, trigger);
  if (listening.length === 0)
    throw new Fault("input.not-found", `No job is set off by ${triggerText(trigger)}.`, {
      hint: `Add \`on: {${trigger.kind}: ${trigger.name}}\` to a job.`,
    });
  const event = eventOf(context, incoming, now);
  const answer = await ledger.fireEvent({
    event,
    jobIds: listening.map(({ definition }) => definition.jobId),
    now,
    decide: withEventTraits(makeDecideEvent(context.parseJob, trigger), ({ definition }) =>
      traitsOf(context, context.parseJob(definition)),
    ),
  });
  if (answer.kind === "conflict")
    throw new Fault("input.conflict", `The key of this event was used for another one with other data.`, {
      hint: "Give each event a key of its own, and repeat it only with the same data.",
      details: { key: answer.event.key },
    });
  const { id, key, receivedAt } = answer.event;
  return {
    event: { id, key, receivedAt: triggerEventDocument({ ...event, receivedAt }).receivedAt },
    isNew: answer.kind === "fired",
    runs: answer.runs.map(({ jobId, id: runId, state, reason }) => ({
      jobId: jobId ?? null,
      runId,
      state,
      reason: reason ?? null,
    })),
  };
}

/** The jobs that a trigger sets off, by id. */
export async function listeners(context: Context, trigger: Trigger): Promise<JobView[]> {
  const views = await context.ledger.triggeredJobs();
  return views.filter((view) =>
    triggersOfView(context, view).some(({ kind, name }) => kind === trigger.kind && name === trigger.name),
  );
}

/** A document that this version cannot read listens to nothing: it is held. */
export function triggersOfView(context: Pick<Context, "parseJob">, view: JobView): readonly JobTrigger[] {
  try {
    return context.parseJob(view.definition).on;
  } catch {
    return [];
  }
}

/** The key of an event that its sender calls `own`. */
export function eventKey({ kind, name }: Trigger, own: string): string {
  return `${kind}/${name}/${PLAIN_KEY.test(own) ? own : `sha256:${sha256(own)}`}`;
}

function eventOf(context: Context, incoming: IncomingEvent, now: number): TriggerEvent {
  const { trigger, data, contentType, headers = {} } = incoming;
  const id = makeId(now, context.random);
  return {
    ...trigger,
    id,
    key: eventKey(trigger, incoming.key ?? id),
    receivedAt: now,
    contentType,
    headers,
    data,
    digest: sha256(data),
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
