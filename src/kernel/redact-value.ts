// Redaction inside of values: each string of a JSON value by itself, before quoting could hide a secret from its pattern.

import type { Redact } from "./redact.ts";

/** A copy with `change` applied to every string in it, keys too, and to numbers whose digits it changes. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value === "number") return mapNumber(value, change);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  if (typeof value !== "object" || value === null) return value;
  return mapRecord(value, change);
}

/** As `mapStrings`, for what is known to be an object. Keys that become equal are numbered, so that no value is lost. */
export function mapRecord(record: object, change: (text: string) => string): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    let name = change(key);
    for (let count = 2; Object.hasOwn(changed, name); count++) name = `${change(key)}#${count}`;
    // A key of the name `__proto__` would set the prototype.
    Object.defineProperty(changed, name, {
      value: mapStrings(value, change),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return changed;
}

/**
 * Redacts JSON text string by string, then as a whole, since a key may lie in a list of lines; the result is JSON too.
 * Text that is no JSON is redacted as it stands; unchanged text is returned as it was.
 */
export function redactJson(text: string, redact: Redact): string {
  const value = parse(text);
  if (value === undefined) return redact(text);
  const mapped = JSON.stringify(mapStrings(value, redact));
  const clean = mapped === JSON.stringify(value) ? text : mapped;
  const plain = redact(clean);
  if (plain === clean || parse(plain) !== undefined) return plain;
  return JSON.stringify({ error: null, redacted: plain });
}

/** A secret of digits alone may stand as a number. */
function mapNumber(value: number, change: (text: string) => string): unknown {
  const text = String(value);
  const changed = change(text);
  return changed === text ? value : changed;
}

/** Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
