// Exit codes as shells say them: 128 + n for the end by signal n.

import { constants } from "node:os";

/** The number of a signal by its name; 0 for one this machine does not know. */
export function signalNumber(name: string | undefined): number {
  return Object.entries(constants.signals).find(([known]) => known === name)?.[1] ?? 0;
}
