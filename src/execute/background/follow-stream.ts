// Reading what a process prints no faster than is good for everybody else.
//
// I1. A process that prints without end is slowed by its own pipe: it costs neither memory nor other work's turn.

import type { Clock } from "../../kernel/time.ts";

/** After so many bytes comes a pause: at most about 100 MB/s of one stream. */
const STRIDE_BYTES = 1_000_000;
const PAUSE_MS = 10;

/** Reads to the stream's end, error included. Never rejects. */
export async function followStream(
  deps: { clock: Clock; disk: { isBehind(): boolean; flushed(): Promise<void> } },
  stream: NodeJS.ReadableStream | undefined,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> {
  const { clock, disk } = deps;
  if (!stream) return;
  let stride = 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Uint8Array;
      onChunk(bytes);
      stride += bytes.length;
      if (disk.isBehind()) await disk.flushed();
      if (stride < STRIDE_BYTES) continue;
      stride = 0;
      await clock.sleep(PAUSE_MS, new AbortController().signal);
    }
  } catch {
    // A broken pipe ends the stream like its end does.
  }
}
