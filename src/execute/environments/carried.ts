// A program that runs inside behind a carrier (carrier.ts), as streams on this side.
//
// I1. What comes is what the program wrote, byte for byte; only with `keepBytes` may a part in the middle be missing.
// I2. A stream that nobody reads lets the program wait: beyond one window nothing is asked for, nor held here.
// I3. `exited` settles when both streams have told the end, or when the wire is at its own: then without a code.

import { Readable, Writable } from "node:stream";
import type { CommandExit } from "../spawn-held.ts";
import { carrierArgv, carrierText, FEED, GO_ON, runText, SHUT, WINDOW_CHARACTERS } from "./carrier.ts";
import type { ShortAnswer, StartRequest } from "./cloud-sandbox.ts";
import type { Launched } from "./place.ts";
import { makeTrailerFilter } from "./trailer.ts";

/** What a service can do: text out, files in and out. */
export interface Wire {
  run(argv: readonly string[]): Promise<ShortAnswer>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  read(path: string): Promise<Uint8Array>;
  /** Rejects when it cannot be started; nothing runs then. */
  start(call: { argv: readonly string[]; word: string }, heard: Heard): Promise<Line>;
}

export interface Heard {
  stdout(text: string): void;
  stderr(text: string): void;
}

export interface Line {
  /** The service has nothing more to tell. Never rejects. */
  ended: Promise<void>;
  /** Stops listening, and lets the service forget it. Idempotent. */
  drop(): void;
}

export interface Carrying {
  /** Before anything else: brings the carrier into the folder. */
  prepare(stateFolder: string): Promise<void>;
  launch(request: StartRequest): Promise<Launched>;
}

/** One for a sandbox. */
export function makeCarrying(wire: Wire): Carrying {
  let folder = "";
  return {
    async prepare(stateFolder) {
      folder = stateFolder;
      const asked = await wire.run(["sh", "-c", "base64 -w0 </dev/null >/dev/null 2>&1"]);
      await wire.write(`${folder}/carrier`, Buffer.from(carrierText(asked.exitCode === 0)));
    },
    launch: (request) => launch(wire, folder, request),
  };
}

async function launch(wire: Wire, folder: string, request: StartRequest): Promise<Launched> {
  const { word, argv, hasStdin, keepBytes } = request;
  const callFolder = `${folder}/call.${word}`;
  const runFile = `${folder}/run.${word}`;
  await wire.write(runFile, Buffer.from(runText(argv)));
  let hasKept = false;
  const streams = (["o", "e"] as const).map((name) =>
    makeStream({
      word,
      takeKept: () => {
        hasKept = true;
        return wire.read(`${callFolder}/kept.${name}`);
      },
      goOn: keepBytes === undefined ? () => void short(wire, GO_ON, callFolder, name) : undefined,
    }),
  );
  const [out, err] = streams as [CarriedStream, CarriedStream];
  const carrierFile = `${folder}/carrier`;
  const line = await wire.start(
    { word, argv: carrierArgv({ carrierFile, callFolder, runFile, word, hasStdin, keepBytes }) },
    { stdout: out.hear, stderr: err.hear },
  );
  const stdin = hasStdin ? makeStdin(wire, { callFolder, file: `${folder}/in.${word}` }) : undefined;
  const finished = Promise.all([out.ended, err.ended]);
  let exit = GONE;
  for (const { told } of streams)
    void told.then((end) => {
      exit = end;
    });
  void line.ended.then(() => {
    for (const stream of streams) stream.end();
  });
  void finished.then(() => {
    line.drop();
    // What nobody had to fetch the carrier has removed.
    if (hasKept) void short(wire, 'rm -rf -- "$1" "$2"', callFolder, runFile);
  });
  return {
    stdout: out.readable,
    stderr: err.readable,
    stdin,
    pid: undefined,
    startTime: "",
    exited: Promise.race([Promise.all([out.told, err.told]), finished]).then(() => exit),
    drop() {
      line.drop();
      stdin?.destroy();
      for (const { readable } of streams) readable.destroy();
    },
    // What listens here does not keep a process alive that has nothing else to do.
    unref() {},
  };
}

const GONE: CommandExit = { exitCode: undefined, signal: undefined };

/** What cannot be said to a sandbox that is gone needs not be said. */
async function short(wire: Wire, script: string, ...args: string[]): Promise<void> {
  await wire.run(["sh", "-c", script, "sh", ...args]).catch(() => {});
}

interface CarriedStream {
  readable: Readable;
  hear(text: string): void;
  end(): void;
  /** The end of the program, as this stream tells it. */
  told: Promise<CommandExit>;
  ended: Promise<void>;
}

interface StreamDeps {
  word: string;
  takeKept(): Promise<Uint8Array>;
  /** Asks for one window more (I2). */
  goOn: (() => void) | undefined;
}

function makeStream({ word, takeKept, goOn }: StreamDeps): CarriedStream {
  const filter = makeTrailerFilter(word);
  const told = deferred<CommandExit>();
  const ended = deferred<void>();
  let left = WINDOW_CHARACTERS;
  let isWaiting = false;
  let taking: Promise<void> | undefined;

  const readable = new Readable({
    read() {
      if (!isWaiting) return;
      isWaiting = false;
      goOn?.();
    },
  });

  function piece(bytes: Uint8Array): boolean {
    const own = filter.push(bytes);
    const hasRoom = own.length === 0 || readable.destroyed || readable.push(own);
    const end = filter.word();
    if (end) told.resolve({ exitCode: end.exitCode, signal: undefined });
    return hasRoom;
  }

  function line(text: string): void {
    if (text.startsWith("+")) {
      const hasRoom = piece(Buffer.from(text.slice(1), "base64"));
      left -= text.length - 1;
      if (left > 0) return;
      left = WINDOW_CHARACTERS;
      // The next `read` asks, when what came is read.
      if (hasRoom) goOn?.();
      else isWaiting = true;
    } else if (text.startsWith("=")) {
      const exitCode = Number(text.slice(1));
      taking = takeKept().then(
        (bytes) => {
          piece(bytes);
          told.resolve({ exitCode, signal: undefined });
        },
        () => {},
      );
    } else if (text === ".") end();
  }

  function end(): void {
    void Promise.resolve(taking).then(() => {
      pushEnd(readable, filter.end());
      ended.resolve();
    });
  }

  return {
    readable,
    hear: hearLines(line),
    end,
    told: told.promise,
    ended: ended.promise,
  };
}

function pushEnd(readable: Readable, rest: Uint8Array): void {
  if (rest.length > 0 && !readable.destroyed) readable.push(rest);
  if (!readable.destroyed) readable.push(null);
}

/** Takes text as it comes, and tells whole lines. */
function hearLines(line: (text: string) => void): (text: string) => void {
  let partial = "";
  return (text) => {
    const lines = (partial + text).split("\n");
    partial = lines.pop() ?? "";
    for (const one of lines) line(one);
  };
}

function makeStdin(wire: Wire, { callFolder, file }: { callFolder: string; file: string }): Writable {
  let count = 0;
  const done = (work: Promise<unknown>, callback: (error?: Error | null) => void) =>
    void work.then(
      () => callback(),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  const stdin = new Writable({
    decodeStrings: true,
    write(chunk: Uint8Array, _encoding, callback) {
      count += 1;
      const piece = `${file}.${count}`;
      const fed = wire.write(piece, chunk).then(() => wire.run(["sh", "-c", FEED, "sh", callFolder, piece]));
      done(fed, callback);
    },
    final: (callback) => done(wire.run(["sh", "-c", SHUT, "sh", callFolder]), callback),
  });
  // Nobody may be left to read: the call's own end tells of it.
  stdin.on("error", () => {});
  return stdin;
}

function deferred<Value>(): { promise: Promise<Value>; resolve(value: Value): void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
