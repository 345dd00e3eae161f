// The newest lines of a process's own log, in memory: bounded by lines and bytes, redacted as they come.

import type { LogLevel, LogSink } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import { formatInstant, type Instant } from "../kernel/time.ts";

const MOST_LINES = 1_000;
const MOST_BYTES = 1_000_000;

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export class LogRing {
  readonly #deps: { now(): Instant; redact(): Redact | undefined };
  readonly #lines: { level: LogLevel; text: string }[] = [];
  #bytes = 0;

  constructor(deps: { now(): Instant; redact(): Redact | undefined }) {
    this.#deps = deps;
  }

  get size(): { lines: number; bytes: number } {
    return { lines: this.#lines.length, bytes: this.#bytes };
  }

  /** Never throws. */
  readonly sink: LogSink = (level, event, fields) => {
    const line = JSON.stringify({ at: formatInstant(this.#deps.now()), level, event, ...fields });
    const text = this.#deps.redact()?.(line) ?? line;
    this.#lines.push({ level, text });
    this.#bytes += Buffer.byteLength(text);
    while (this.#lines.length > MOST_LINES || (this.#bytes > MOST_BYTES && this.#lines.length > 1))
      this.#bytes -= Buffer.byteLength(this.#lines.shift()?.text ?? "");
  };

  /** The last `tail` lines of this level and above, oldest first, each a JSON text. */
  lines({ tail, level }: { tail: number; level: LogLevel }): string[] {
    const from = LOG_LEVELS.indexOf(level);
    const found = this.#lines.filter((one) => LOG_LEVELS.indexOf(one.level) >= from);
    return found.slice(Math.max(0, found.length - tail)).map(({ text }) => text);
  }
}

const rings = new WeakMap<object, LogRing>();

/** Remembers which ring keeps the lines of a log. */
export function bindLogRing(log: object, ring: LogRing): void {
  rings.set(log, ring);
}

/** Undefined = this process keeps no lines. */
export function logRingOf(log: object): LogRing | undefined {
  return rings.get(log);
}
