// From a fault's code to an exit code (U1), and how a fault is printed. Nothing else in the CLI maps errors.

import { type Fault, type FaultCode, isFault, messageOf, sayFault } from "../kernel/errors.ts";

/** U1: 0 ok · 1 the work failed · 2 wrong usage or input · 3 unknown · 4 `--wait` ran out · 130 interrupted. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unknown: 3, waitRanOut: 4, interrupted: 130 } as const;

/** Codes that are no fault of the input; all others exit with 2. */
const EXIT_BY_PREFIX: readonly [prefix: string, exit: number][] = [
  ["store.newer", EXIT.usage],
  ["store.network-file-system", EXIT.usage],
  ["store.", EXIT.failed],
  ["environment.unusable", EXIT.usage],
  ["environment.", EXIT.failed],
  ["model.unreachable", EXIT.failed],
  ["mcp.unreachable", EXIT.failed],
  ["cassette.differs", EXIT.failed],
];

export function exitCodeOf(code: FaultCode): number {
  return EXIT_BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? EXIT.usage;
}

/** One line: what, where, what to do. With `--json` the same as a document on stderr, since stdout holds results only. */
export function describeError(
  error: unknown,
  options: { isJson: boolean; isDebug: boolean },
): { text: string; exitCode: number } {
  if (!isFault(error)) return describeBug(error, options);
  const { code, message, hint, place, details } = error;
  const exitCode = exitCodeOf(code);
  if (options.isJson)
    return {
      text: errorDocument({ code, message, hint, place: place ?? null, details: details ?? null }),
      exitCode,
    };
  const { file, line, column } = place ?? {};
  const where = [file, line, column].filter((part) => part !== undefined).join(":");
  const stack = options.isDebug ? `\n${error.stack ?? ""}` : "";
  const said = saidLines(error);
  return {
    text: `nightshift: ${where && !message.startsWith(where) ? `${where}: ` : ""}${said}${stack}`,
    exitCode,
  };
}

/** Several mistakes in one file are a line each. Elsewhere a line end is part of somebody's text that is quoted. */
function saidLines(fault: Fault): string {
  const issues = fault.details?.issues;
  if (!Array.isArray(issues) || issues.length < 2) return sayFault(fault).replace(/\s*\n\s*/g, " ");
  return fault.message.trimEnd();
}

function describeBug(error: unknown, options: { isJson: boolean; isDebug: boolean }) {
  const message =
    options.isDebug && error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  const hint = "This is a bug in Nightshift; --debug shows where.";
  const text = options.isJson
    ? errorDocument({ code: "bug", message, hint, place: null, details: null })
    : `nightshift: ${message} (${hint.replace(/^This is | *\.$/g, "")})`;
  return { text, exitCode: EXIT.failed };
}

/** The command line itself was wrong: what commander said, in the same shape as every other error. */
export function describeUsage(said: string, options: { isJson: boolean }): string {
  const message = said
    .replace(/^error: /, "")
    .trim()
    .replace(/\n/g, " ");
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}`.replace(/(?<![.?!)])$/, ".");
  const hint = "Add --help to see what belongs here.";
  if (!options.isJson) return `nightshift: ${sentence} ${hint}`;
  return errorDocument({ code: "input.usage", message: sentence, hint, place: null, details: null });
}

function errorDocument(error: Record<string, unknown>): string {
  return JSON.stringify({ error });
}
