// Reads server-sent events as a browser does: remembers the last id, and nothing else.

import type { Served } from "./server.ts";

export interface ReadEvent {
  id: number;
  data: { sequence: number; kind: string; runId: string | null; jobId: string | null };
}

export interface EventReader {
  readonly status: number;
  /** What a browser would send as Last-Event-ID. */
  lastId(): string;
  /** The next event; undefined when the stream has ended. */
  next(): Promise<ReadEvent | undefined>;
  /** Hangs up in the middle. */
  hangUp(): Promise<void>;
}

export async function readEvents(
  { server, context }: Pick<Served, "server" | "context">,
  path = "/api/events",
  lastEventId?: string,
): Promise<EventReader> {
  const hangUp = new AbortController();
  const response = await fetch(`${server.url}${path}`, {
    headers: {
      authorization: `Bearer ${context.home.token}`,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    },
    signal: hangUp.signal,
  });
  const chunks = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  const waiting: string[] = [];
  let rest = "";
  let lastId = "";
  const block = async (): Promise<string | undefined> => {
    while (waiting.length === 0) {
      const { done, value } = await chunks.read();
      if (done) return undefined;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      waiting.push(...parts);
    }
    return waiting.shift();
  };
  return {
    status: response.status,
    lastId: () => lastId,
    async next() {
      for (let text = await block(); text !== undefined; text = await block()) {
        lastId = /^id: (.*)$/m.exec(text)?.[1] ?? lastId;
        const data = /^data: (.*)$/m.exec(text)?.[1];
        if (data !== undefined) return { id: Number(lastId), data: JSON.parse(data) };
      }
      return undefined;
    },
    async hangUp() {
      hangUp.abort();
      await chunks.cancel().catch(() => {});
    },
  };
}
