// `stdout`: the message goes to the standard output of the process that sends it.
//
// I1. Printing twice is visible, and nobody can ask a terminal: `blind` (O3).

import { messageOf } from "../../kernel/errors.ts";
import type { Clock } from "../../kernel/time.ts";
import type { Adapter } from "../../records/delivery.ts";

export interface StdoutOptions {
  clock: Clock;
  /** Resolves when the text was taken. Undefined = this process has no output of its own to give (`--json`, a daemon). */
  write: ((text: string) => Promise<void>) | undefined;
}

export function makeStdoutAdapter({ clock, write }: StdoutOptions): Adapter {
  return {
    platform: "stdout",
    repeatability: "blind",
    maxLength: Number.POSITIVE_INFINITY,
    hasNoAddress: true,
    isForPrograms: true,
    parseAddress: (address) => (address === "" ? {} : undefined),
    unusable: () => (write ? undefined : "this process keeps its standard output for itself"),
    async send({ body }) {
      if (!write) return { kind: "refused", error: "this process has no standard output" };
      try {
        await write(body.endsWith("\n") ? body : `${body}\n`);
        return { kind: "delivered", receipt: { at: clock.now() } };
      } catch (error) {
        return { kind: "refused", error: `standard output is closed: ${messageOf(error)}` };
      }
    },
  };
}
