// Events as server-sent events: `id` is the sequence, so a reader that reconnects goes on where it was cut.
//
// I1. Pulled, never pushed: the next batch is read when the socket has taken the last one.
// I2. The first block carries an id without data: a reader that is cut before its first event still knows where to resume.

import { eventDocument } from "../app/documents.ts";
import type { RunEvent } from "../records/run.ts";

/** How long a browser waits before it reconnects. */
const RECONNECT_MS = 1_000;

export interface StreamOptions {
  /** The sequence it starts after. */
  after: number;
  events: AsyncGenerator<readonly RunEvent[]>;
  /** Ends `events`. */
  abort(reason: unknown): void;
  /** Told why, when `events` throws; the reader only sees the stream's end, and comes back. */
  failed(error: unknown): void;
}

export function eventStream({ after, events, abort, failed }: StreamOptions): Response {
  const encoder = new TextEncoder();
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(`retry: ${RECONNECT_MS}\nid: ${after}\n\n`));
      },
      async pull(controller) {
        const next = await events.next().catch((error: unknown) => ({ done: true as const, error }));
        if (!next.done) return controller.enqueue(encoder.encode(blocks(next.value)));
        // A reader whose stream ends without an error reconnects and loses nothing.
        if ("error" in next) failed(next.error);
        if (!isCancelled) controller.close();
      },
      async cancel(reason) {
        isCancelled = true;
        abort(reason);
        // A generator that is being read ends by the abort; one that rests ends by this.
        await events.return(undefined).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" },
  });
}

/** An empty batch is a sign of life. JSON has no raw line ends, so one `data` line is enough. */
function blocks(events: readonly RunEvent[]): string {
  if (events.length === 0) return ": alive\n\n";
  return events
    .map((event) => `id: ${event.sequence}\ndata: ${JSON.stringify(eventDocument(event))}\n\n`)
    .join("");
}
