// Looking at a background process: whether it lives, and what is written down when it does not.
//
// I1. What the shim wrote is believed first: an exit code stays known through a crash of the node, or of the machine.
// I2. Alive = this pid with this start time. Anything else is gone, and said so (`lost`): hermes#89614, hermes#31980.
// I3. One of another host is left alone: nobody here can know.

import { firstPiece, spooledBytes, spooledExit } from "../../execute/background/spool.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import type { BackgroundEnding } from "../../records/ledger/background.ts";
import type { Context } from "../context.ts";
import { folderOf, identityOf, isOfAnotherBoot, isOfThisHost } from "./places.ts";

/** What a KILL leaves, as shells say. */
const KILLED = 137;

/** Where its output lies; also of one that another process of ours holds. */
export const outputFolder = (context: Pick<Context, "home">, { id }: { id: string }) => folderOf(context, id);
export const logFileOf = (context: Pick<Context, "home">, id: string) => firstPiece(folderOf(context, id));

/** The record as it stands now; an end that is seen here is written down. */
export async function observe(context: Context, record: BackgroundRecord): Promise<BackgroundRecord> {
  if (record.state !== "running") return record;
  const ending = await endingOf(context, record);
  if (!ending) {
    const outputBytes = await spooledBytes(outputFolder(context, record));
    return { ...record, outputBytes: Math.max(record.outputBytes, outputBytes) };
  }
  await context.ledger.endBackground(ending);
  const now = await context.ledger.background(record.id);
  return now && !("ambiguous" in now) ? now : { ...record, ...ending };
}

/** Undefined while it lives, or cannot be judged from here. */
async function endingOf(context: Context, record: BackgroundRecord): Promise<BackgroundEnding | undefined> {
  const known = await writtenEnding(context, record);
  if (known) return known;
  const isGone =
    isOfAnotherBoot(context, record) || (isOfThisHost(context, record) && !isAlive(context, record));
  if (!isGone) return undefined;
  // It may have written its end between the two looks.
  return (await writtenEnding(context, record)) ?? goneEnding(context, record);
}

/** What is not supervised lives as long as the process of ours that holds it. */
function isAlive(context: Context, record: BackgroundRecord): boolean {
  const identity = record.isSupervised
    ? identityOf(record)
    : { pid: record.holderPid, startTime: record.holderStartTime };
  return identity !== undefined && context.isAlive(identity);
}

async function writtenEnding(
  context: Context,
  record: BackgroundRecord,
): Promise<BackgroundEnding | undefined> {
  const folder = outputFolder(context, record);
  const exit = record.isSupervised ? await spooledExit(folder) : undefined;
  if (!exit) return undefined;
  return {
    id: record.id,
    state: record.killRequestedAt === undefined ? "exited" : "killed",
    exitCode: exit.exitCode,
    endedAt: Math.max(exit.endedAt, record.startedAt),
    outputBytes: await spooledBytes(folder),
  };
}

async function goneEnding(context: Context, record: BackgroundRecord): Promise<BackgroundEnding> {
  const wasKilled = record.killRequestedAt !== undefined && record.isSupervised;
  const outputBytes = await spooledBytes(outputFolder(context, record));
  return {
    id: record.id,
    state: wasKilled ? "killed" : "lost",
    exitCode: wasKilled ? KILLED : undefined,
    endedAt: await context.ledger.now(),
    outputBytes: Math.max(record.outputBytes, outputBytes),
  };
}
