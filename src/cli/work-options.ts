// Options that `workflow run` and `executor submit` share.

import { Fault } from "../kernel/errors.ts";
import type { Options } from "./command.ts";
import { listOption, textOption } from "./options.ts";

/** `--params {...}`. Throws `input.usage`. */
export function jsonParams(options: Options): Record<string, unknown> {
  const text = textOption(options, "params");
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Said below.
  }
  throw new Fault("input.usage", "--params is no JSON map.", { hint: `Write --params '{"line": "A"}'.` });
}

/** `--deliver`, repeatable; absent = the default of whoever asks. */
export function deliverOption(options: Options): { deliver?: string[] } {
  const deliver = listOption(options, "deliver");
  return deliver === undefined ? {} : { deliver };
}
