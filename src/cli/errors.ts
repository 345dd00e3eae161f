// From a fault's code to an exit code (U1), and how a fault is printed. Nothing else in the CLI maps errors.

import { type FaultCode, isFault, messageOf } from "../kernel/errors.ts";

/** U1: 0 ok · 1 the work failed · 2 wrong usage or input · 3 unknown · 4 `--wait` ran out · 130 interrupted. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unknown: 3, waitRanOut: 4, interrupted: 130 } as const;

/** Codes that are no fault of the input; all others exit with 2. */
const EXIT_BY_PREFIX: readonly [prefix: string, exit: number][] = [
  ["store.newer", EXIT.usage],
  ["store.network-file-system", EXIT.usage],
  ["store.", EXIT.failed],
  ["environment.", EXIT.failed],
];

export function exitCodeOf(code: FaultCode): number {
  return EXIT_BY_PREFIX.find(([prefix]) => code.startsWith(prefix))?.[1] ?? EXIT.usage;
}

/** One line: what, where, what to do. With `--json` the same as a document on stderr, since stdout holds results only. */
export function describeError(
  error: unknown,
  options: { isJson: boolean; isDebug: boolean },
): { text: string; exitCode: number } {
  if (!isFault(error)) {
    const text =
      options.isDebug && error instanceof Error
        ? (error.stack ?? error.message)
        : `${messageOf(error)} (a bug in Nightshift; --debug shows where)`;
    return { text: `nightshift: ${text}`, exitCode: EXIT.failed };
  }
  const { file, line, column } = error.place ?? {};
  const where = [file, line, column].filter((part) => part !== undefined).join(":");
  const exitCode = exitCodeOf(error.code);
  if (options.isJson) {
    const { code, message, hint, place, details } = error;
    return {
      text: JSON.stringify({
        error: { code, message, hint, place: place ?? null, details: details ?? null },
      }),
      exitCode,
    };
  }
  const stack = options.isDebug ? `\n${error.stack ?? ""}` : "";
  const said = `${where && !error.message.startsWith(where) ? `${where}: ` : ""}${sentence(error.message)}`;
  const hint = sentence(error.hint.charAt(0).toUpperCase() + error.hint.slice(1));
  return { text: `nightshift: ${said}${said.endsWith(hint) ? "" : ` ${hint}`}${stack}`, exitCode };
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
