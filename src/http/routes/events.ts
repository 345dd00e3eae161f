// `GET /api/events`: the ledger's events as they come, resumable without loss or repetition.

import * as z from "zod/mini";
import type { Context } from "../../app/context.ts";
import { followEvents } from "../../app/follow-events.ts";
import { findRun } from "../../app/runs.ts";
import { linkAbort } from "../../kernel/abort.ts";
import { Fault, messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import { eventStream } from "../event-stream.ts";
import { numberParameter, textParameter } from "../parameters.ts";
import { type Route, route } from "../route.ts";
import { jobIdOf } from "./job-id.ts";

/** Shorter than the idle limits of common proxies. */
const HEARTBEAT_MS = 15 * SECOND;

export const eventRoute: Route = route({
  method: "get",
  path: "/events",
  operationId: "followEvents",
  summary: "Events as server-sent events: id is the sequence, data an Event. Without a start: from now on.",
  tag: "runs",
  headers: { "Last-Event-ID": "The sequence of the last event that was read; wins over `after`." },
  query: {
    after: numberParameter("Only events after this sequence; 0 = all that are kept.", {
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    run: textParameter("Only events of this run."),
    job: textParameter("Only events of this job, by id or name."),
  },
  answers: { 200: { description: "A stream.", schema: z.string(), type: "text/event-stream" } },
  async handle({ context, query, header, signal, track }) {
    const jobId = await jobIdOf(context, query.job);
    const runId = query.run === undefined ? undefined : (await findRun(context, query.run)).id;
    const after = sequenceOf(header("last-event-id")) ?? query.after ?? (await context.ledger.lastSequence());
    const gone = new AbortController();
    const filter = { ...(runId !== undefined && { runId }), ...(jobId !== undefined && { jobId }) };
    return eventStream({
      after,
      events: follow(context, { after, filter, stopped: signal, gone: gone.signal, track }),
      abort: (reason) => gone.abort(reason),
      failed: (error) => context.log.warn("event-stream-failed", { error: messageOf(error) }),
    });
  },
});

interface Following {
  after: number;
  filter: { runId?: string; jobId?: string };
  stopped: AbortSignal;
  gone: AbortSignal;
  track(): () => void;
}

/** Takes hold of nothing before the first read: the answer to a HEAD request is never read. */
async function* follow(context: Context, { after, filter, stopped, gone, track }: Following) {
  const untrack = track();
  const abort = linkAbort(stopped);
  const leave = () => abort.abort(gone.reason);
  gone.addEventListener("abort", leave, { once: true });
  try {
    yield* followEvents(context, { ...filter, after, quietMs: HEARTBEAT_MS, signal: abort.signal });
  } finally {
    gone.removeEventListener("abort", leave);
    abort.release();
    untrack();
  }
}

function sequenceOf(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === "") return undefined;
  if (/^\d{1,16}$/.test(lastEventId)) return Number(lastEventId);
  throw new Fault("input.usage", `Last-Event-ID "${lastEventId}" is no sequence.`, {
    hint: "Send the id of the last event, or leave it out.",
  });
}
