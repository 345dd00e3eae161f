// What a scripted model does with one request: the steps of `startModelServer`, and a gate to drip by hand.

/** Lets pieces of an answer through one by one, when a test says so. */
export interface Gate {
  /** Lets the next `count` pieces through. Default 1. */
  release(count?: number): void;
  /** Lets everything through from now on. */
  open(): void;
  /** Resolves when a piece may pass. For the server. */
  pass(): Promise<void>;
  /** Resolves when the answer waits at the gate: a test's sign that what came before has been written. */
  whenWaiting(): Promise<void>;
}

export interface ScriptedCall {
  /** Default: `call-1`, … by request and place. */
  id?: string;
  name: string;
  /** Text is sent as it is (malformed JSON too); an object as JSON. */
  arguments: string | Record<string, unknown>;
}

export interface ScriptedUsage {
  input: number;
  output: number;
  cached?: number;
  reasoning?: number;
}

export interface ReplyStep {
  kind: "reply";
  /** A list is streamed piece by piece. */
  text?: string | readonly string[];
  reasoning?: string | readonly string[];
  /** An opaque signature of the reasoning, where the dialect has one (Anthropic, Google). */
  signature?: string;
  toolCalls?: readonly ScriptedCall[];
  /** null = the server tells none. Default: 10 in, 5 out. */
  usage?: ScriptedUsage | null;
  finish?: "stop" | "length" | "filter";
  /** Each piece of content waits here before it is written. */
  gate?: Gate;
  /** Real pause before each piece. */
  pieceDelayMs?: number;
  /** After this many pieces of content: `cut` destroys the connection, `stall` writes nothing more. Streams only. */
  breaks?: { after: number; by: "cut" | "stall" };
}

export interface RawStep {
  kind: "raw";
  status: number;
  headers?: Record<string, string>;
  body: string;
}

/** `hang` = no answer at all, `drop` = the connection is destroyed before a status. */
export type Step = ReplyStep | RawStep | { kind: "hang" } | { kind: "drop" };

type ReplyOptions = Omit<ReplyStep, "kind" | "text" | "toolCalls">;

/** A text answer; a list of texts is streamed piece by piece. */
export function say(text: string | readonly string[], options: ReplyOptions = {}): ReplyStep {
  return { kind: "reply", text, ...options };
}

/** An answer that calls tools, side by side; `text` comes before the calls. */
export function callTools(
  toolCalls: readonly ScriptedCall[],
  options: ReplyOptions & { text?: string | readonly string[] } = {},
): ReplyStep {
  return { kind: "reply", toolCalls, ...options };
}

/** An error as its dialect words it. Default body: a JSON error with `message`. */
export function fail(
  status: number,
  options: { retryAfter?: string | number; message?: string; body?: string } = {},
): RawStep {
  const message = options.message ?? `scripted ${status}`;
  return {
    kind: "raw",
    status,
    headers: {
      "content-type": "application/json",
      ...(options.retryAfter === undefined ? {} : { "retry-after": String(options.retryAfter) }),
    },
    body: options.body ?? JSON.stringify({ type: "error", error: { type: "scripted", message } }),
  };
}

/** Anything at all with status 200: wrong JSON, a web page. */
export function raw(body: string, contentType = "application/json"): RawStep {
  return { kind: "raw", status: 200, headers: { "content-type": contentType }, body };
}

/** Sends the client elsewhere. */
export function redirect(location: string, status = 307): RawStep {
  return { kind: "raw", status, headers: { location }, body: "" };
}

/** Streams `pieces`, then the connection dies. */
export const cutAfter = (...pieces: string[]): ReplyStep =>
  say(pieces, { breaks: { after: pieces.length, by: "cut" } });

/** Streams `pieces`, then nothing more comes until the client goes or the server is closed. */
export const stallAfter = (...pieces: string[]): ReplyStep =>
  say(pieces, { breaks: { after: pieces.length, by: "stall" } });

/** An answer without text or calls. */
export const empty = (): ReplyStep => ({ kind: "reply" });

/** A text of `bytes` ASCII characters in pieces of 16 kB. */
export function huge(bytes: number): ReplyStep {
  const piece = "x".repeat(16_384);
  const whole = Math.floor(bytes / piece.length);
  return say([...Array.from({ length: whole }, () => piece), "x".repeat(bytes - whole * piece.length)]);
}

export function makeGate(): Gate {
  let credit = 0;
  let waiting: (() => void) | undefined;
  let watchers: (() => void)[] = [];
  const wake = () => {
    if (credit <= 0 || !waiting) return;
    credit--;
    const resolve = waiting;
    waiting = undefined;
    resolve();
  };
  return {
    release(count = 1) {
      credit += count;
      wake();
    },
    open() {
      credit = Number.POSITIVE_INFINITY;
      wake();
    },
    pass() {
      return new Promise((resolve) => {
        waiting = resolve;
        for (const watcher of watchers.splice(0)) watcher();
        wake();
      });
    },
    whenWaiting() {
      return waiting
        ? Promise.resolve()
        : new Promise((resolve) => {
            watchers = [...watchers, resolve];
          });
    },
  };
}
