// Faults: the errors a user can meet. Each has a dotted code, one hint and says whether trying later can help.
//
// I1. Nothing is classified by message text: surfaces map `code` (cli/errors.ts, http/errors.ts), nothing else maps.
// I2. Expected answers (claim lost, exit code, quota) are values, never faults. Bugs are plain `Error`.

const BRAND = Symbol.for("nightshift.fault");

/** Codes by boundary. A new one is added here and in the surfaces' tables. */
export type FaultCode =
  | "input.usage"
  | "input.invalid"
  | "input.not-found"
  | "input.ambiguous"
  | "input.conflict"
  | "input.refused"
  | "input.too-large"
  | "input.media-type"
  | "input.method"
  | "job.invalid"
  | "job.yaml"
  | "job.unreadable"
  | "workflow.invalid"
  | "executor.invalid"
  | "executor.unknown"
  | "executor.params"
  | "schedule.unreadable"
  | "schedule.never-fires"
  | "schedule.past"
  | "schedule.zone"
  | "target.unknown"
  | "target.no-origin"
  | "target.refused"
  | "script.path"
  | "script.missing"
  | "config.invalid"
  | "home.unusable"
  | "store.busy"
  | "store.unavailable"
  | "store.newer"
  | "store.corrupt"
  | "store.full"
  | "store.network-file-system"
  | "environment.broken"
  | "environment.unusable"
  | "environment.file-missing"
  | "environment.file-refused"
  | "process.unknown"
  | "model.unknown"
  | "model.key-missing"
  | "model.host-refused"
  | "model.unpriced"
  | "model.unreachable"
  | "budget.spent"
  | "prompt.blocked"
  | "skill.missing"
  | "skill.invalid"
  | "tool.unknown"
  | "mcp.unreachable"
  | "cassette.missing"
  | "cassette.differs"
  | "platform.unsupported"
  | "auth.refused"
  | "auth.forbidden";

/** Where in a person's text a fault lies; lines and columns count from 1. */
export interface Place {
  file?: string;
  line?: number;
  column?: number;
}

export interface FaultOptions {
  /** One imperative sentence: what to do now. */
  hint: string;
  /** Whether the same call may work later without a change. Default `never`. */
  retry?: "never" | "later";
  cause?: unknown;
  place?: Place;
  /** Facts for programs (candidates, limits). Never secrets. */
  details?: Record<string, unknown>;
}

/** An error a user can meet, with what to do about it. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly hint: string;
  readonly retry: "never" | "later";
  readonly place: Place | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly [BRAND] = true;

  constructor(code: FaultCode, message: string, options: FaultOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.hint = options.hint;
    this.retry = options.retry ?? "never";
    this.place = options.place;
    this.details = options.details;
  }
}

/** Recognises a fault by its brand, so that two copies of this module still agree. */
export function isFault(error: unknown): error is Fault {
  return typeof error === "object" && error !== null && BRAND in error;
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What happened and what to do, as sentences; a hint that the message holds already is not said twice. */
export function sayFault({ message, hint }: Pick<Fault, "message" | "hint">): string {
  const bare = hint.replace(/[.!?…]$/, "");
  if (message.toLowerCase().includes(bare.toLowerCase())) return asSentence(message);
  return `${asSentence(message)} ${asSentence(hint.charAt(0).toUpperCase() + hint.slice(1))}`;
}

function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Ends a `switch` over a union: reached only by a bug. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}

/** States what must hold; a breach is a bug. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}

/** The known word nearest to `word` (edit distance ≤ a third of its length, at least 2), for "did you mean". */
export function nearestWord(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
