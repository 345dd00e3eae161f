// Query parameters: what a route takes, read once at the edge, and refused in the CLI's words.

import * as z from "zod/mini";
import { Fault, nearestWord } from "../kernel/errors.ts";
import { type Instant, parseDuration, parseInstant } from "../kernel/time.ts";

export interface Parameter<Value> {
  description: string;
  /** As the OpenAPI document shows it. */
  schema: z.ZodMiniType;
  /** Completes "is not …". */
  expected: string;
  isRequired?: true;
  /** May be given more than once. */
  isRepeatable?: true;
  /** Undefined = refused. */
  read(texts: readonly string[], now: Instant): Value | undefined;
}

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** What a handler receives: only what was given. */
export type Values<Known extends Parameters> = {
  [Name in keyof Known]?: Known[Name] extends Parameter<infer Value> ? Value : never;
};

/** Throws `input.usage` for an unknown, missing, repeated or unreadable parameter. */
export function readParameters<Known extends Parameters>(
  known: Known,
  query: URLSearchParams,
  now: Instant,
): Values<Known> {
  for (const name of query.keys()) if (!Object.hasOwn(known, name)) throw unknownParameter(name, known);
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(known)) {
    const texts = query.getAll(name);
    if (texts.length > 0) values[name] = readOne(name, parameter, { texts, now });
    else if (parameter.isRequired)
      throw new Fault("input.usage", `${name} is missing.`, { hint: `Add ?${name}=…` });
  }
  return values as Values<Known>;
}

function readOne(
  name: string,
  parameter: Parameter<unknown>,
  { texts, now }: { texts: string[]; now: Instant },
): unknown {
  const { expected, isRepeatable } = parameter;
  if (texts.length > 1 && !isRepeatable) {
    throw new Fault("input.usage", `${name} is given ${texts.length} times.`, { hint: "Give it once." });
  }
  const value = parameter.read(texts, now);
  if (value !== undefined) return value;
  throw new Fault("input.usage", `${name} "${texts.join(",")}" is not ${expected}.`, {
    hint: `Write ${expected}.`,
  });
}

function unknownParameter(name: string, known: Parameters): Fault {
  const names = Object.keys(known);
  const near = nearestWord(name, names);
  const list = names.length > 0 ? `Known here: ${names.join(", ")}.` : "This route takes none.";
  return new Fault("input.usage", `unknown query parameter "${name}"`, {
    hint: near ? `Did you mean "${near}"?` : list,
  });
}

export function textParameter(description: string): Parameter<string> {
  return { description, schema: z.string(), expected: "a text", read: ([text]) => text };
}

/** `1`, `true` or nothing but the name; `0` and `false`. */
export function flagParameter(description: string): Parameter<boolean> {
  const words: Readonly<Record<string, boolean>> = {
    "": true,
    "1": true,
    true: true,
    "0": false,
    false: false,
  };
  const schema = z.enum(["1", "0", "true", "false"]);
  return { description, schema, expected: "1 or 0", read: ([text = ""]) => words[text] };
}

export function numberParameter(
  description: string,
  { min, max }: { min: number; max: number },
): Parameter<number> {
  return {
    description,
    schema: z.int().check(z.gte(min), z.lte(max)),
    expected: `a whole number from ${min} to ${max}`,
    read: ([text = ""]) => {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= min && value <= max ? value : undefined;
    },
  };
}

/** An ISO instant, a day, or a duration that means so long ago. */
export function instantParameter(description: string): Parameter<Instant> {
  return {
    description,
    schema: z.string(),
    expected:
      "an instant such as 2026-11-29T06:00:00Z, a day such as 2026-11-29, or a duration such as 24h (that long ago)",
    read: ([text = ""], now) => {
      const duration = parseDuration(text);
      const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseInstant(`${text}T00:00:00Z`) : undefined;
      return parseInstant(text) ?? day ?? (duration === undefined ? undefined : now - duration);
    },
  };
}

/** Words separated by commas, or the parameter repeated. */
export function wordsParameter<Word extends string>(
  description: string,
  words: readonly Word[],
): Parameter<Word[]> {
  return {
    description: `${description} Several: with commas.`,
    schema: z.string(),
    expected: `one of ${words.join(", ")}`,
    isRepeatable: true,
    read: (texts) => {
      const given = texts.flatMap((text) => text.split(",")).map((word) => word.trim());
      const known = given.flatMap((word) => words.filter((candidate) => candidate === word));
      return known.length === given.length ? known : undefined;
    },
  };
}

export function textsParameter(description: string): Parameter<readonly string[]> {
  return {
    description,
    schema: z.array(z.string()),
    expected: "a text",
    isRepeatable: true,
    read: (texts) => texts,
  };
}
