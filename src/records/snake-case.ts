// camelCase is our spelling; the snake_case spelling of a key we know is read as well, inside user data never.
//
// I1. Which keys are ours is read from the schema itself, so the schema stays the only list of keys.
// I2. Keys of records (`env`, `executors`) are a person's own names: they keep their spelling. What lies below them is ours
//     where the schema says so.

import type { $ZodType } from "zod/v4/core";

/** `max_concurrent_tasks` → `maxConcurrentTasks`; a text that is no plain snake_case is returned as it is. */
export function camelCase(key: string): string {
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(key)) return key;
  return key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The parts of a zod definition this file reads. */
interface Definition {
  type: string;
  innerType?: $ZodType;
  element?: $ZodType;
  options?: readonly $ZodType[];
  shape?: Record<string, $ZodType>;
  valueType?: $ZodType;
}

const definitionOf = (schema: $ZodType): Definition => schema._zod.def as unknown as Definition;

/** Every object shape that could stand here: unions offer several, records and texts none. */
function shapesOf(schema: $ZodType): Record<string, $ZodType>[] {
  const { type, innerType, options, shape } = definitionOf(schema);
  if (type === "object" && shape) return [shape];
  if (innerType) return shapesOf(innerType);
  return (options ?? []).flatMap(shapesOf);
}

function elementOf(schema: $ZodType): $ZodType | undefined {
  const { innerType, options, element } = definitionOf(schema);
  if (element) return element;
  if (innerType) return elementOf(innerType);
  for (const option of options ?? []) {
    const found = elementOf(option);
    if (found) return found;
  }
  return undefined;
}

/** What stands below the names of a record. */
function membersOf(schema: $ZodType): $ZodType | undefined {
  const { innerType, options, valueType } = definitionOf(schema);
  if (valueType) return valueType;
  if (innerType) return membersOf(innerType);
  return (options ?? []).map(membersOf).find((found) => found !== undefined);
}

/** A copy of `value` in which every known key is spelled in camelCase. Unknown keys and user data stay as they are. */
export function knownKeysInCamelCase(value: unknown, schema: $ZodType): unknown {
  if (Array.isArray(value)) {
    const element = elementOf(schema);
    return element ? value.map((item) => knownKeysInCamelCase(item, element)) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const shapes = shapesOf(schema);
  if (shapes.length === 0) return membersInCamelCase(value, membersOf(schema));
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => {
    const shape = shapes.find((candidate) => Object.hasOwn(candidate, key));
    if (shape) return [key, descend(child, shape[key])];
    const camel = camelCase(key);
    const known = shapes.find((candidate) => Object.hasOwn(candidate, camel));
    // Both spellings at once: the snake one stays and is refused as unknown, so nothing is overwritten silently.
    if (!known || Object.hasOwn(value, camel)) return [key, child];
    return [camel, descend(child, known[camel])];
  });
  return Object.fromEntries(entries);
}

function membersInCamelCase(value: object, member: $ZodType | undefined): unknown {
  if (!member) return value;
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, descend(child, member)]));
}

function descend(value: unknown, schema: $ZodType | undefined): unknown {
  return schema ? knownKeysInCamelCase(value, schema) : value;
}

/** The keys that are known at `path` below `schema`. */
export function knownKeysAt(schema: $ZodType, path: readonly PropertyKey[]): string[] {
  let candidates: $ZodType[] = [schema];
  for (const step of path) {
    candidates = candidates.flatMap((candidate) =>
      typeof step === "number"
        ? [elementOf(candidate)].filter((element) => element !== undefined)
        : [
            ...shapesOf(candidate).flatMap((shape) =>
              shape[String(step)] ? [shape[String(step)] as $ZodType] : [],
            ),
            ...[membersOf(candidate)].filter((member) => member !== undefined),
          ],
    );
  }
  return [...new Set(candidates.flatMap(shapesOf).flatMap((shape) => Object.keys(shape)))];
}
