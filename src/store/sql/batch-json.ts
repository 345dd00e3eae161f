// A batch of records as one JSON parameter: how many rows travel in one statement (`Dialect.rows` reads it).

import type { ColumnKind, Columns } from "./columns.ts";

/** An array of arrays, in the order of `columns`: SQLite reads a position faster than a name. Absent fields are NULL. */
export function encodeArrays(columns: Columns, records: readonly object[]): string {
  const entries = Object.entries(columns);
  return toText(
    records.map((record) => entries.map(([name, kind]) => encodeValue(kind, Reflect.get(record, name)))),
  );
}

/** An array of objects: what PostgreSQL reads in one go. Absent fields are NULL. */
export function encodeObjects(columns: Columns, records: readonly object[]): string {
  const entries = Object.entries(columns);
  return toText(
    records.map((record) => {
      const row: Record<string, string | number> = {};
      for (const [name, kind] of entries) {
        const value = encodeValue(kind, Reflect.get(record, name));
        if (value !== null) row[name] = value;
      }
      return row;
    }),
  );
}

function toText(rows: readonly object[]): string {
  const text = JSON.stringify(rows);
  return text.includes("\\u") ? JSON.stringify(rows, cleanText) : text;
}

function encodeValue(kind: ColumnKind, value: unknown): string | number | null {
  // An absent flag is a false one.
  if (kind === "bool") return value === true ? 1 : 0;
  if (value === null || value === undefined) return null;
  if (kind === "json") return JSON.stringify(value);
  // Integer columns of PostgreSQL refuse a fraction; no unit of ours has one.
  if (kind === "int") return Math.round(Number(value));
  return String(value);
}

/** PostgreSQL text holds neither NUL nor half a surrogate pair; a script may print both. */
function cleanText(_name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value
    .replaceAll("\0", "\ufffd")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
