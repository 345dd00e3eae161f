// Redaction inside of values: each string of a JSON value by itself, before quoting could hide a secret from its pattern.

import type { Redact } from "./redact.ts";

/** A copy with `change` applied to every string in it, keys too. Other values stay as they are. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
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

/** Redacts JSON text string by string; text that is no JSON as it stands. Unchanged text is returned as it was. */
export function redactJson(text: string, redact: Redact): string {
  const plain = redact(text);
  // Only a quoted character can hide a secret from the plain way.
  if (!text.includes("\\")) return plain;
  try {
    const value: unknown = JSON.parse(text);
    const clean = JSON.stringify(mapStrings(value, redact));
    return clean === JSON.stringify(value) ? plain : redact(clean);
  } catch {
    return plain;
  }
}
