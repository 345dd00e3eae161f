// One call inside, from its launch to its result: output kept and told, limits and interrupts obeyed, nothing left running.
//
// I1. A call ends with the command itself, not with whoever holds its pipes: the closing word on both streams says so.
// I2. After a time-out or an interrupt everything the call started is ended inside (hermes#84967); partial output is kept.
// I3. What outlives a call that ended by itself is read on and thrown away, so that it neither blocks nor dies of a pipe.

import type { Readable } from "node:stream";
import { linkAbort, whenAborted } from "../../kernel/abort.ts";
import type { Clock } from "../../kernel/time.ts";
import type { ExecOptions } from "../../records/environment.ts";
import { makeTail, type Tail } from "../capture.ts";
import type { CommandExit } from "../spawn-held.ts";
import { signalNumber } from "./exit-code.ts";
import type { Launched, Place } from "./place.ts";
import { type ClosingWord, makeTrailerFilter, type TrailerFilter } from "./trailer.ts";

/** Kept of each stream where a call says nothing. */
export const DEFAULT_MAX_BYTES = 1_000_000;
/** After an exit without a word (`exec program`): how long both streams must be silent, and how long that is awaited. */
const QUIET_MS = 50;
const DRAIN_MS = 2_000;
export const DEFAULT_CPU_SAMPLE_MS = 5_000;

export interface CallDeps {
  clock: Clock;
  graceMs: number;
  cpuSampleMs: number;
}

export interface CallEnd {
  /** Why the call ended: the command's own word, its exit alone, a limit or the caller. */
  why: "word" | "exit" | "timeout" | "interrupt";
  exitCode: number;
  word: ClosingWord | undefined;
  stdout: Uint8Array;
  stderr: Uint8Array;
  isTruncated: boolean;
  /** How many would not go after a time-out or an interrupt. */
  survivors: number;
  /** Resolves when nothing holds the launch any more: neither the program nor what it left behind. Never rejects. */
  settled: Promise<void>;
}

export interface Call {
  callId: string;
  nonce: string;
  launched: Launched;
  options: ExecOptions;
}

/** Sees a launched call to its end. Rejects only when the place cannot end what is left. */
export async function runCall(deps: CallDeps, place: Place, call: Call): Promise<CallEnd> {
  const { launched, options } = call;
  const output = watchOutput(call);
  const timers = linkAbort();
  const abort = whenAborted(options.signal);
  const sampling = sampleCpu(deps, place, { ...call, output, signal: timers.signal });
  if (options.stdin !== undefined) launched.stdin?.end(options.stdin);
  try {
    const why = await Promise.race([
      output.closed.then(() => "word" as const),
      launched.exited.then(() => drain(deps, output, timers.signal)).then(() => "exit" as const),
      limit(deps, options.timeoutMs, timers.signal),
      abort.promise.then(() => "interrupt" as const),
    ]);
    return await endOf(deps, place, { ...call, output, why });
  } finally {
    timers.abort(new Error("the call has ended"));
    abort.release();
    await sampling;
  }
}

async function endOf(
  deps: CallDeps,
  place: Place,
  ending: Call & { output: Output; why: CallEnd["why"] },
): Promise<CallEnd> {
  const { launched, output } = ending;
  let { why } = ending;
  // The word may be on its way while the limit strikes: an ended command has ended.
  if ((why === "timeout" || why === "interrupt") && output.word()) why = "word";
  let survivors = 0;
  if (why === "timeout" || why === "interrupt") {
    ({ survivors } = await place.end(ending.callId, { graceMs: deps.graceMs, launched }));
    const never = new AbortController().signal;
    await Promise.race([output.ended, deps.clock.sleep(QUIET_MS * 4, never)]);
    launched.drop();
  }
  const exit = why === "exit" || why === "word" ? await exitSoon(deps, launched) : undefined;
  return {
    why,
    word: why === "word" || why === "exit" ? output.word() : undefined,
    exitCode: why === "timeout" ? 124 : why === "interrupt" ? 130 : codeOf(output.word(), exit),
    ...output.take(),
    survivors,
    settled: Promise.all([output.ended, launched.exited]).then(() => {}),
  };
}

/** The shell says its word a moment before it is gone; a client may stay for as long as somebody holds its pipes. */
async function exitSoon(deps: CallDeps, { exited }: Launched): Promise<CommandExit | undefined> {
  const timer = linkAbort();
  try {
    return await Promise.race([exited, deps.clock.sleep(QUIET_MS, timer.signal).then(() => undefined)]);
  } finally {
    timer.abort(new Error("the exit is known"));
  }
}

/** The exit is the truth where it is known: a shell that dies by a signal says its word as if nothing were. */
function codeOf(word: ClosingWord | undefined, exit: CommandExit | undefined): number {
  if (exit?.signal) return 128 + signalNumber(exit.signal);
  return exit?.exitCode ?? word?.exitCode ?? 0;
}

interface Output {
  /** Both streams have had the closing word. */
  closed: Promise<void>;
  /** Both streams are at their end. */
  ended: Promise<void>;
  hasEnded(): boolean;
  /** Pieces of output so far. */
  pieces(): number;
  word(): ClosingWord | undefined;
  take(): { stdout: Uint8Array; stderr: Uint8Array; isTruncated: boolean };
}

interface Watched {
  tail: Tail;
  filter: TrailerFilter;
  closed: Promise<void>;
  ended: Promise<void>;
  hasEnded(): boolean;
}

function watchOutput({ launched, nonce, options }: Call): Output {
  let pieces = 0;
  const watch = (name: "stdout" | "stderr") =>
    watchStream(name === "stdout" ? launched.stdout : launched.stderr, nonce, {
      maxBytes: options.maxBytes ?? DEFAULT_MAX_BYTES,
      onChunk(chunk) {
        pieces += 1;
        options.onActivity?.("output");
        options.onOutput?.(name, chunk);
      },
    });
  const streams = [watch("stdout"), watch("stderr")] as const;
  const [out, err] = streams;
  return {
    closed: Promise.all(streams.map((stream) => stream.closed)).then(() => {}),
    ended: Promise.all(streams.map((stream) => stream.ended)).then(() => {}),
    hasEnded: () => streams.every((stream) => stream.hasEnded()),
    pieces: () => pieces,
    word: () => out.filter.word() ?? err.filter.word(),
    take: () => ({
      stdout: out.tail.bytes(),
      stderr: err.tail.bytes(),
      isTruncated: out.tail.isTruncated() || err.tail.isTruncated(),
    }),
  };
}

function watchStream(
  stream: Readable | undefined,
  nonce: string,
  { maxBytes, onChunk }: { maxBytes: number; onChunk(chunk: Uint8Array): void },
): Watched {
  const tail = makeTail(maxBytes);
  const filter = makeTrailerFilter(nonce);
  let hasEnded = stream === undefined;
  const keep = (bytes: Uint8Array) => {
    if (bytes.length === 0) return;
    tail.push(bytes);
    onChunk(bytes);
  };
  const closed = new Promise<void>((resolve) => {
    stream?.on("data", (chunk: Uint8Array) => {
      keep(filter.push(chunk));
      if (filter.word()) resolve();
    });
  });
  const ended = new Promise<void>((resolve) => {
    if (!stream) return resolve();
    stream.on("error", () => {});
    stream.once("close", () => {
      hasEnded = true;
      keep(filter.end());
      resolve();
    });
  });
  return { tail, filter, closed, ended, hasEnded: () => hasEnded };
}

/** Waits until both streams are at their end, or have been silent for a moment: what the program wrote is read by then. */
async function drain(deps: CallDeps, output: Output, signal: AbortSignal): Promise<void> {
  const until = deps.clock.monotonicMs() + DRAIN_MS;
  while (!output.hasEnded() && !signal.aborted && deps.clock.monotonicMs() < until) {
    const before = output.pieces();
    await Promise.race([output.ended, deps.clock.sleep(QUIET_MS, signal).catch(() => {})]);
    if (output.pieces() === before) return;
  }
}

function limit(deps: CallDeps, timeoutMs: number | undefined, signal: AbortSignal): Promise<"timeout"> {
  if (!timeoutMs) return new Promise(() => {});
  return deps.clock.sleep(timeoutMs, signal).then(
    () => "timeout" as const,
    () => new Promise<"timeout">(() => {}),
  );
}

/** Tells of CPU time that was used without any output (L14). Ends with `signal`. */
async function sampleCpu(
  deps: CallDeps,
  place: Place,
  call: Call & { output: Output; signal: AbortSignal },
): Promise<void> {
  const { onActivity } = call.options;
  if (!onActivity) return;
  let pieces = call.output.pieces();
  let used = 0;
  while (await sleeps(deps, call.signal)) {
    const isSilent = call.output.pieces() === pieces;
    pieces = call.output.pieces();
    if (!isSilent) continue;
    const now = await place.cpuMs(call.callId, call.launched).catch(() => undefined);
    if (call.signal.aborted) return;
    if (now !== undefined && now !== used) onActivity("cpu");
    used = now ?? used;
  }
}

function sleeps(deps: CallDeps, signal: AbortSignal): Promise<boolean> {
  return deps.clock.sleep(deps.cpuSampleMs, signal).then(
    () => true,
    () => false,
  );
}
