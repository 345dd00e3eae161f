// The node's own log: JSON lines in <home>/logs/nightshift.log, turned over by size, old ones dropped.

import { appendFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { LogSink } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import { formatInstant, type Instant } from "../kernel/time.ts";
import { homePaths } from "../store/files/home.ts";

const MAX_BYTES = 10_000_000;
const KEPT = 3;

const LOG_FILE = "nightshift.log";

/** A sink that never throws: a full disk loses log lines, not work. Secrets are redacted here, at the exit. */
export function fileSink(home: string, deps: { now(): Instant; redact(): Redact | undefined }): LogSink {
  const file = logFileOf(home);
  let bytes = sizeOf(file);
  return (level, event, fields) => {
    const line = JSON.stringify({ at: formatInstant(deps.now()), level, event, ...fields });
    try {
      if (bytes > MAX_BYTES) {
        turnOver(file);
        bytes = 0;
      }
      const text = `${deps.redact()?.(line) ?? line}\n`;
      appendFileSync(file, text, { mode: 0o600 });
      bytes += Buffer.byteLength(text);
    } catch {
      // Nothing left to say it with.
    }
  };
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}

/** nightshift.log → .1 → .2 → gone. */
function turnOver(file: string): void {
  for (let index = KEPT - 1; index > 0; index--) {
    const from = index === 1 ? file : `${file}.${index - 1}`;
    try {
      renameSync(from, `${file}.${index}`);
    } catch {
      // Not there yet.
    }
  }
}

/** Those that were turned over, the newest first; they may not be there. */
export function olderLogFilesOf(home: string): string[] {
  return Array.from({ length: KEPT - 1 }, (_, index) => `${logFileOf(home)}.${index + 1}`);
}

/** Where a home's node writes its log. */
export function logFileOf(home: string): string {
  return join(homePaths(home).logsFolder, LOG_FILE);
}
