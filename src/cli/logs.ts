// `logs`: the node's own log.

import { watch } from "node:fs";
import { open as openFile, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { logFileOf, olderLogFilesOf } from "../app/log-file.ts";
import { LOG_LEVELS } from "../app/log-ring.ts";
import type { LogLevel } from "../kernel/log.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import type { Io } from "./io.ts";
import { isSet, numberOption, wordsOption } from "./options.ts";

export const logs: RunCommand = async ({ options, io, home }) => {
  const tail = numberOption(options, "tail", { min: 0, max: 1_000_000 }) ?? 50;
  const level = wordsOption(options, "level", LOG_LEVELS)?.[0] ?? "debug";
  const file = logFileOf(home.path);
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = linesOf(text, level);
  // Turned over a moment ago: what came before it is in older files.
  for (const older of olderLogFilesOf(home.path)) {
    if (lines.length >= tail) break;
    lines.unshift(...linesOf(await readFile(older, "utf8").catch(() => ""), level));
  }
  for (const line of lines.slice(Math.max(0, lines.length - tail))) printLine(io, line);
  if (!isSet(options, "follow")) return EXIT.ok;
  await follow(io, { file, level, from: Buffer.byteLength(text) });
  return EXIT.interrupted;
};

function linesOf(text: string, level: LogLevel): string[] {
  return text.split("\n").filter((line) => line !== "" && isAtLeast(line, level));
}

/** Prints what is appended until interrupted; a log that was turned over is read from its beginning. */
async function follow(io: Io, start: { file: string; level: LogLevel; from: number }): Promise<void> {
  let { from } = start;
  // The folder, not the file: there may be no log yet, and a log that is turned over is a new file.
  const watcher = watch(dirname(start.file), { signal: io.signal });
  try {
    await new Promise<void>((resolve) => {
      const read = async () => {
        const handle = await openFile(start.file, "r");
        const { size } = await handle.stat();
        if (size < from) from = 0;
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
        await handle.close();
        const complete = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
        from += complete;
        const lines = buffer.subarray(0, complete).toString("utf8").split("\n");
        for (const line of lines) if (line !== "" && isAtLeast(line, start.level)) printLine(io, line);
      };
      watcher.on("change", () => void read().catch(() => {}));
      watcher.on("error", () => resolve());
      io.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    watcher.close();
  }
}

function isAtLeast(line: string, level: LogLevel): boolean {
  const found = LOG_LEVELS.findIndex((name) => line.includes(`"level":"${name}"`));
  return found < 0 || found >= LOG_LEVELS.indexOf(level);
}

function printLine(io: Io, line: string): void {
  try {
    if (io.isJson) {
      io.out(line);
      return;
    }
    const { at, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const facts = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    io.out(`${at} ${String(level).padEnd(5)} ${event} ${facts.join(" ")}`.trimEnd());
  } catch {
    io.out(line);
  }
}
