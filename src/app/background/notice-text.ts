// What people read of a background process: that it ended, that a watched line came, that it still prints.

import type { WatchEvent } from "../../execute/background/watch-decision.ts";
import { formatDuration } from "../../kernel/time.ts";
import type { BackgroundRecord } from "../../records/background.ts";

/** Characters of output in a message. @source upstream.md 1.9 */
export const NOTICE_CHARACTERS = 2_000;

export interface Excerpt {
  text: string;
  isCut: boolean;
}

/** One process, named. */
const nameOf = ({ id, command }: BackgroundRecord) =>
  `Process ${id} (${command.length > 120 ? `${command.slice(0, 119)}…` : command})`;

export function exitText(record: BackgroundRecord, tail: Excerpt, untold: number): string {
  const took = formatDuration((record.endedAt ?? record.startedAt) - record.startedAt);
  const how =
    record.state === "lost"
      ? "is gone, and nobody saw how it ended"
      : `ended with exit code ${record.exitCode ?? "unknown"} after ${took}`;
  return [
    `${nameOf(record)} ${how}.`,
    ...(untold > 0 ? [`Watched lines that were not told of: ${untold}.`] : []),
    ...excerpt("Its output ends with:", tail),
    "",
    `Look further: nightshift process log ${record.id}`,
  ].join("\n");
}

const OFF = {
  strikes: "Too many lines match: watching ends here, and only its end will be told.",
  events: "That was the last of the lines that are told: from here on only its end will be told.",
  pattern: "The watch pattern takes too long: watching ends here, and only its end will be told.",
} as const;

export function watchText(record: BackgroundRecord, event: WatchEvent): string {
  return [
    `${nameOf(record)} printed:`,
    ...event.lines,
    ...(event.suppressed > 0 ? [`(and ${event.suppressed} more matching lines)`] : []),
    ...(event.offWhy ? ["", OFF[event.offWhy]] : []),
  ].join("\n");
}

export function heartbeatText(record: BackgroundRecord, tail: Excerpt, afterMs: number): string {
  return [
    `${nameOf(record)} still runs, for ${formatDuration(afterMs)} now.`,
    ...excerpt("New output:", tail),
  ].join("\n");
}

function excerpt(title: string, { text, isCut }: Excerpt): string[] {
  const trimmed = text.trimEnd();
  return trimmed === "" ? [] : ["", isCut ? `${title} (cut)` : title, trimmed];
}
