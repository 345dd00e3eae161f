// A long-lived command over a launch: its streams without our closing word, its end, and its whole tree's end.

import { PassThrough, type Readable } from "node:stream";
import { Fault } from "../../kernel/errors.ts";
import type { SpawnedCommand } from "../../records/environment.ts";
import type { CommandExit } from "../spawn-held.ts";
import type { Launched } from "./place.ts";
import { type ClosingWord, makeTrailerFilter } from "./trailer.ts";

export interface SpawnedOptions {
  nonce: string;
  cwd: string;
  end(graceMs?: number): Promise<{ survivors: number }>;
}

/** Makes the port's object. The launch is its own from now on. */
export function spawnedOver(launched: Launched, options: SpawnedOptions): SpawnedCommand {
  let onWord: (word: ClosingWord) => void = () => {};
  const word = new Promise<ClosingWord>((resolve) => {
    onWord = resolve;
  });
  const filtered = (stream: Readable) => withoutWord(stream, options.nonce, onWord);
  const stdout = filtered(launched.stdout);
  const stderr = launched.stderr && filtered(launched.stderr);
  const exited = Promise.race([word.then(exitOfWord), launched.exited]);
  return {
    pid: launched.pid,
    cwd: options.cwd,
    stdout,
    stderr,
    write: (data) => writeTo(launched, data),
    async closeStdin() {
      launched.stdin?.end();
    },
    async kill({ graceMs } = {}) {
      const ended = await options.end(graceMs);
      await exited;
      launched.drop();
      return ended;
    },
    exited,
  };
}

/** 128 + n is how the shell told of a signal; a command that exits with such a code by itself looks the same. */
function exitOfWord({ exitCode }: ClosingWord): CommandExit {
  return { exitCode, signal: undefined };
}

function withoutWord(stream: Readable, nonce: string, onWord: (word: ClosingWord) => void): Readable {
  const filter = makeTrailerFilter(nonce);
  const clean = new PassThrough();
  stream.on("data", (chunk: Uint8Array) => {
    const hadWord = filter.word() !== undefined;
    const bytes = filter.push(chunk);
    // Back-pressure: a reader that is slow slows the command, and memory stays bounded.
    if (bytes.length > 0 && !clean.write(bytes)) {
      stream.pause();
      clean.once("drain", () => stream.resume());
    }
    const word = filter.word();
    if (!word || hadWord) return;
    onWord(word);
    clean.end();
  });
  stream.on("error", () => {});
  stream.once("close", () => {
    if (!filter.word()) clean.end(filter.end());
  });
  return clean;
}

function writeTo({ stdin }: Launched, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!stdin?.writable) return reject(closed());
    stdin.write(data, (error) => (error ? reject(closed(error)) : resolve()));
  });
}

function closed(cause?: Error): Fault {
  return new Fault("input.conflict", "the command's stdin is closed", {
    hint: "Start the command again to write to it.",
    cause,
  });
}
