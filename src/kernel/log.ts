// The log port. Events are noun-verb (`run-started`), fields are plain values; a sink decides how they look.

export type LogLevel = "debug" | "info" | "warn" | "error";

/** One line of log. Never throws, never blocks the caller. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

export type LogSink = (level: LogLevel, event: string, fields: Record<string, unknown>) => void;

/** A log that hands every line at or above `level` to `sink`. */
export function makeLog(sink: LogSink, level: LogLevel = "info"): Log {
  const order: LogLevel[] = ["debug", "info", "warn", "error"];
  const at =
    (own: LogLevel) =>
    (event: string, fields: Record<string, unknown> = {}) => {
      if (order.indexOf(own) >= order.indexOf(level)) sink(own, event, fields);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A log that keeps nothing. */
export const silentLog: Log = makeLog(() => {}, "error");
