// JSON Schema as far as executors' contracts use it: type, properties, required, additionalProperties, items, enum,
// minimum, maximum. What is not known here is not judged.

import { nearestWord } from "../kernel/errors.ts";

export type ValueSchema = Readonly<Record<string, unknown>>;

export interface SchemaIssue {
  path: readonly (string | number)[];
  /** Whether the key itself is meant, or its value. */
  of: "key" | "value";
  what: string;
  hint: string;
}

/** A value that a template will give: its type, or undefined where nobody can know it yet. */
export class Unknown {
  readonly type: string | undefined;
  constructor(type: string | undefined) {
    this.type = type;
  }
}

/** What a schema has against a value, every mistake at once. `Unknown` stands for what is not known before a run. */
export function schemaIssues(
  schema: ValueSchema,
  value: unknown,
  path: readonly (string | number)[],
): SchemaIssue[] {
  const types = [schema.type].flat().filter((type): type is string => typeof type === "string");
  const actual = typeOf(value);
  if (types.length > 0 && actual !== undefined && !types.some((type) => fits(actual, type, value)))
    return [wrongType({ types, actual, value }, path)];
  if (value instanceof Unknown) return [];
  if (Array.isArray(schema.enum) && !schema.enum.some((allowed) => equal(allowed, value)))
    return [wrongChoice(schema.enum, value, path)];
  if (typeof value === "number") return rangeIssues(schema, value, path);
  if (Array.isArray(value))
    return isMap(schema.items)
      ? value.flatMap((item, index) => schemaIssues(schema.items as ValueSchema, item, [...path, index]))
      : [];
  return isMap(value) ? mapIssues(schema, value, path) : [];
}

/** The schema of a part of what this schema describes; undefined where it says nothing; `absent` where it rules it out. */
export function schemaAt(
  schema: ValueSchema,
  path: readonly (string | number)[],
): ValueSchema | "absent" | undefined {
  let here: ValueSchema = schema;
  for (const step of path) {
    if (typeof step === "number") {
      if (!isMap(here.items)) return undefined;
      here = here.items;
      continue;
    }
    const properties: Record<string, unknown> | undefined = isMap(here.properties)
      ? here.properties
      : undefined;
    const next: unknown = properties && Object.hasOwn(properties, step) ? properties[step] : undefined;
    if (!isMap(next)) return properties && here.additionalProperties === false ? "absent" : undefined;
    here = next;
  }
  return here;
}

function mapIssues(
  schema: ValueSchema,
  value: Readonly<Record<string, unknown>>,
  path: readonly (string | number)[],
): SchemaIssue[] {
  const properties = isMap(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const missing = required
    .filter((key) => !Object.hasOwn(value, key))
    .map(
      (key): SchemaIssue => ({
        path,
        of: "value",
        what: `${nameOf([...path, key])} is missing`,
        hint: "add it",
      }),
    );
  const members = Object.entries(value).flatMap(([key, member]): SchemaIssue[] => {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (isMap(known)) return schemaIssues(known, member, [...path, key]);
    if (schema.additionalProperties !== false || known !== undefined) return [];
    const nearest = nearestWord(key, Object.keys(properties));
    const hint = nearest
      ? `did you mean "${nearest}"?`
      : `use one of: ${Object.keys(properties).join(", ") || "none"}`;
    return [{ path: [...path, key], of: "key", what: `unknown parameter "${key}"`, hint }];
  });
  return [...missing, ...members];
}

function rangeIssues(schema: ValueSchema, value: number, path: readonly (string | number)[]): SchemaIssue[] {
  const { minimum, maximum } = schema;
  if (typeof minimum === "number" && value < minimum)
    return [{ path, of: "value", what: `${nameOf(path)} is too small`, hint: `write at least ${minimum}` }];
  if (typeof maximum === "number" && value > maximum)
    return [{ path, of: "value", what: `${nameOf(path)} is too large`, hint: `write at most ${maximum}` }];
  return [];
}

function wrongType(
  { types, actual, value }: { types: readonly string[]; actual: string; value: unknown },
  path: readonly (string | number)[],
): SchemaIssue {
  const isQuoted = typeof value === "string" && types.some((type) => NUMERIC.has(type)) && isNumeric(value);
  const what = `${nameOf(path)} must be ${types.join(" or ")}, not ${actual}`;
  const hint = isQuoted
    ? `write ${Number(value)}, not "${value}"`
    : `give it a value of type ${types.join(" or ")}`;
  return { path, of: "value", what, hint };
}

function wrongChoice(
  allowed: readonly unknown[],
  value: unknown,
  path: readonly (string | number)[],
): SchemaIssue {
  const nearest = typeof value === "string" ? nearestWord(value, allowed.map(String)) : undefined;
  const list = allowed.map((item) => JSON.stringify(item)).join(", ");
  const what = `${nameOf(path)} must be one of ${list}`;
  return { path, of: "value", what, hint: nearest ? `did you mean "${nearest}"?` : `write one of ${list}` };
}

const NUMERIC = new Set(["number", "integer"]);
const isNumeric = (text: string) => text.trim() !== "" && Number.isFinite(Number(text));

function fits(actual: string, type: string, value: unknown): boolean {
  if (actual === type) return true;
  if (type === "number") return actual === "integer";
  return type === "integer" && actual === "number" && value instanceof Unknown;
}

function typeOf(value: unknown): string | undefined {
  if (value instanceof Unknown) return value.type;
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function nameOf(path: readonly (string | number)[]): string {
  return path.join(".") || "the value";
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
