// How a script is given its params: as `--name value` and as `PARAM_NAME` (docs/executors.md).
//
// I1. A value is one argument or one variable, verbatim: it is never spliced into a text that anything parses.

import type { ScriptPass } from "../../records/executor-config.ts";

export interface PassedParams {
  args: string[];
  env: Record<string, string>;
}

/** The param whose items follow as arguments of their own, where a script declares none of that name. */
const POSITIONAL = "args";

/** `true` is `--name` alone, `false` and `null` are left out; lists and maps are JSON. In `args`, items are positional. */
export function passParams(
  params: Readonly<Record<string, unknown>>,
  { pass, isDeclared }: { pass: ScriptPass; isDeclared(name: string): boolean },
): PassedParams {
  const args: string[] = [];
  const positional: string[] = [];
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined) continue;
    if (name === POSITIONAL && Array.isArray(value) && !isDeclared(name)) {
      positional.push(...value.map(textOf));
      continue;
    }
    if (pass !== "environment") args.push(...asArguments(name, value));
    if (pass !== "arguments") env[variableOf(name)] = textOf(value);
  }
  return { args: [...args, ...positional], env };
}

/** `max-items` → `PARAM_MAX_ITEMS`. */
export function variableOf(name: string): string {
  return `PARAM_${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}

function asArguments(name: string, value: unknown): string[] {
  if (value === false) return [];
  return value === true ? [`--${name}`] : [`--${name}`, textOf(value)];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
