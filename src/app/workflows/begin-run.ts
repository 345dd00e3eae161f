// The beginning of a workflow's run: its params checked and filled in, its one uuid, what triggered it.

import { createHash } from "node:crypto";
import { Fault, nearestWord } from "../../kernel/errors.ts";
import { formatInstant, type Instant } from "../../kernel/time.ts";
import type { RunStart } from "../../orchestrate/graph/progress.ts";
import type { Run } from "../../records/run.ts";
import type { ParamDocument, ParamType, Workflow } from "../../records/workflow.ts";

/** What a run is given, once. The same run and params give the same uuid, so that a beginning may be repeated. */
export function startOf(
  run: Run,
  {
    params,
    now,
    trigger,
  }: { params: Readonly<Record<string, unknown>>; now: Instant; trigger: Readonly<Record<string, unknown>> },
): RunStart {
  return { runId: run.id, uuid: uuidOf(run.id), startedAt: run.startedAt ?? now, params, trigger };
}

/** What `trigger` means in templates. */
export function triggerOf(run: Run): Record<string, unknown> {
  return {
    kind: run.trigger,
    jobId: run.jobId ?? null,
    slot: run.slot === undefined ? null : formatInstant(run.slot),
    attempt: run.attempt,
  };
}

/**
 * Params with defaults filled in. Throws `input.invalid` naming every one that is missing, unknown, of the wrong type or
 * none of the allowed values.
 */
export function fillParams(
  workflow: Pick<Workflow, "name" | "params">,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const known = Object.keys(workflow.params);
  const wrong: string[] = [];
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const nearest = nearestWord(name, known);
    wrong.push(`there is no param "${name}"${nearest ? `; did you mean "${nearest}"?` : ""}`);
  }
  const filled: Record<string, unknown> = {};
  for (const [name, declared] of Object.entries(workflow.params)) {
    const value = Object.hasOwn(given, name) ? given[name] : declared.default;
    const why = value === undefined ? `the param "${name}" is missing` : whyNot(name, value, declared);
    if (why !== undefined) wrong.push(why);
    filled[name] = value;
  }
  if (wrong.length === 0) return filled;
  throw new Fault("input.invalid", `${workflow.name}: ${wrong.join("; ")}`, {
    hint: known.length > 0 ? `Its params are ${known.join(", ")}.` : "It takes no params.",
  });
}

/** A command line's `k=v`: text, unless the param is declared as something else. Throws `input.invalid`. */
export function readParam(workflow: Pick<Workflow, "params">, text: string): [name: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1)
    throw new Fault("input.invalid", `"${text}" is no NAME=VALUE`, { hint: "Write --param line=A." });
  const name = text.slice(0, at);
  const value = text.slice(at + 1);
  const type = workflow.params[name]?.type;
  if (type === undefined || type === "string") return [name, value];
  try {
    return [name, JSON.parse(value)];
  } catch {
    throw new Fault(
      "input.invalid",
      `the param "${name}" takes a value of type ${type}, and "${value}" is none`,
      {
        hint: `Write it as JSON: --param ${name}=${EXAMPLES[type]}.`,
      },
    );
  }
}

const EXAMPLES: Record<ParamType, string> = {
  ...{ string: "text", number: "1.5", integer: "3", boolean: "true" },
  ...{ list: `'["a", "b"]'`, map: `'{"key": "value"}'` },
};

function whyNot(name: string, value: unknown, { type, enum: allowed }: ParamDocument): string | undefined {
  if (type !== undefined && !IS[type](value))
    return `the param "${name}" is ${JSON.stringify(value)}, which is no ${type}`;
  if (allowed && !allowed.some((one) => JSON.stringify(one) === JSON.stringify(value)))
    return `the param "${name}" is ${JSON.stringify(value)}; allowed are ${allowed.map((one) => JSON.stringify(one)).join(", ")}`;
  return undefined;
}

const IS: Record<ParamType, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === "boolean",
  list: (value) => Array.isArray(value),
  map: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

function uuidOf(runId: string): string {
  const hex = createHash("sha256").update(runId).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
