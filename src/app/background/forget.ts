// Forgetting ended background processes: their rows and what they printed, half an hour after their end.
//
// I1. What has something left alive, or is still to be told of, stays known.

import { readdir, rm, stat } from "node:fs/promises";
import { processesMarked } from "../../execute/process-table.ts";
import { HOUR, MINUTE } from "../../kernel/time.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import type { Context } from "../context.ts";
import { folderOf, isOfThisHost, processesFolder } from "./places.ts";

/** @source upstream.md 1.9 */
export const KEPT_MS = 30 * MINUTE;
/** Ended ones kept of one owner. */
export const MOST_ENDED = 64;

/** One turn. A folder whose row is gone goes too, once it is old enough not to be a start under way. */
export async function forgetProcesses(context: Context): Promise<void> {
  const { ledger } = context;
  const now = await ledger.now();
  const ended = await ledger.backgrounds({ state: ["exited", "killed", "lost"] });
  const old = ended.filter(
    (record, index) => now - (record.endedAt ?? now) >= KEPT_MS || isBeyond(ended, record, index),
  );
  const gone = old.filter(
    (record) => isOfThisHost(context, record) && processesMarked(record.id).length === 0,
  );
  const foreign = old.filter((record) => !isOfThisHost(context, record));
  await ledger.removeBackgrounds([...gone, ...foreign].map(({ id }) => id));
  await sweepFolders(context);
}

/** Newest first: whether 64 of the same owner came after it. */
function isBeyond(ended: readonly BackgroundRecord[], record: BackgroundRecord, index: number): boolean {
  const sameOwner = ended
    .slice(0, index)
    .filter(({ ownerRunId, session }) => ownerRunId === record.ownerRunId && session === record.session);
  return sameOwner.length >= MOST_ENDED;
}

async function sweepFolders(context: Context): Promise<void> {
  const names = await readdir(processesFolder(context)).catch(() => []);
  for (const id of names) {
    const known = await context.ledger.background(id);
    if (known !== undefined) continue;
    const folder = folderOf(context, id);
    const made = await stat(folder).catch(() => undefined);
    if (made && context.clock.now() - made.mtimeMs < HOUR / 60) continue;
    await rm(folder, { recursive: true, force: true });
  }
}
