// Tells when anything in a folder may have changed: the system's notices where they work, a slow look everywhere.
//
// I1. A notice is a hint, never a fact: the listener looks for itself.
// I2. The slow look finds what notices miss (network mounts, exhausted watches, a folder that was replaced).

import { type FSWatcher, watch } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Clock } from "../../kernel/time.ts";

export interface WatchOptions {
  folder: string;
  clock: Clock;
  /** Names that matter. */
  accepts(name: string): boolean;
  /** Called after a change; never concurrently by one event, may be called for nothing. */
  listener(): void;
  /** Between two slow looks. Default 15 s while notices work, 2 s while they do not. */
  pollMs?: number;
}

const POLL_BESIDE_NOTICES_MS = 15_000;
const POLL_ALONE_MS = 2_000;

/** Starts watching. The returned function ends it and holds nothing afterwards (idempotent). */
export function watchFolder(options: WatchOptions): () => void {
  const { folder, clock, accepts, listener } = options;
  const controller = new AbortController();
  let notices: FSWatcher | undefined;

  const closeNotices = () => {
    notices?.close();
    notices = undefined;
  };

  function openNotices(): void {
    closeNotices();
    try {
      notices = watch(folder, { persistent: false }, (_, name) => {
        // The folder's own name means that it was removed or renamed: this watch sees nothing any more.
        if (name === basename(folder)) closeNotices();
        if (name === null || accepts(name) || name === basename(folder)) listener();
      });
      // A watch that breaks is no fault: the slow look goes on and opens another.
      notices.on("error", closeNotices);
    } catch {
      notices = undefined;
    }
  }

  async function lookSlowly(): Promise<void> {
    let before = await signatureOf(folder, accepts);
    while (!controller.signal.aborted) {
      const pause = options.pollMs ?? (notices ? POLL_BESIDE_NOTICES_MS : POLL_ALONE_MS);
      await clock.sleep(pause, controller.signal);
      const after = await signatureOf(folder, accepts);
      if (controller.signal.aborted) return;
      // A folder that was replaced takes its notices along.
      if (!notices || after.folder !== before.folder) openNotices();
      if (after.folder !== before.folder || after.files !== before.files) listener();
      before = after;
    }
  }

  openNotices();
  lookSlowly().catch((error: unknown) => {
    if (error !== controller.signal.reason) throw error;
  });
  return () => {
    controller.abort(new Error("watch ended"));
    closeNotices();
  };
}

async function signatureOf(
  folder: string,
  accepts: (name: string) => boolean,
): Promise<{ folder: string; files: string }> {
  try {
    const { ino, dev, birthtimeMs } = await stat(folder);
    const names = (await readdir(folder)).filter(accepts).sort();
    const files = await Promise.all(
      names.map(async (name) => {
        const stats = await stat(join(folder, name)).catch(() => undefined);
        return `${name}:${stats?.size}:${stats?.mtimeMs}:${stats?.ino}:${stats?.mode}`;
      }),
    );
    return { folder: `${dev}:${ino}:${birthtimeMs}`, files: files.join("\n") };
  } catch {
    return { folder: "unreadable", files: "" };
  }
}
