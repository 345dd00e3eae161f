// The differences between the two engines' SQL, in one table. Everything else is one text for both.

import { encodeArrays, encodeObjects } from "./batch-json.ts";
import type { Columns } from "./columns.ts";
import type { EngineName } from "./connection.ts";

export interface Dialect {
  readonly engine: EngineName;
  readonly textType: string;
  readonly intType: string;
  /** A key that numbers rows as they are inserted, never reusing a number. */
  readonly serialKey: string;
  /** A table expression over one `?` parameter, made by `encodeRows`: a batch is one statement. */
  rows(alias: string, columns: Columns): string;
  encodeRows(columns: Columns, records: readonly object[]): string;
  /** Ends a SELECT that takes rows nobody else holds. `of` names the locked table's alias. */
  skipLocked(of: string): string;
  /** Ends a SELECT that waits for the rows' present holders. */
  forUpdate(of: string): string;
}

const sqlite: Dialect = {
  engine: "sqlite",
  textType: "TEXT",
  intType: "INTEGER",
  serialKey: "INTEGER PRIMARY KEY AUTOINCREMENT",
  rows(alias, columns) {
    const list = Object.keys(columns).map((name, index) => `value->>${index} AS "${name}"`);
    return `(SELECT ${list.join(", ")} FROM json_each(?)) AS ${alias}`;
  },
  encodeRows: encodeArrays,
  // The write transaction holds the whole file.
  skipLocked: () => "",
  forUpdate: () => "",
};

const postgres: Dialect = {
  engine: "postgres",
  // Binary order, as in SQLite: ids page by it, and prefixes are ranges.
  textType: `TEXT COLLATE "C"`,
  intType: "BIGINT",
  serialKey: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  rows(alias, columns) {
    const list = Object.entries(columns).map(
      ([name, kind]) => `"${name}" ${kind === "int" || kind === "bool" ? "bigint" : "text"}`,
    );
    return `json_to_recordset(?::json) AS ${alias}(${list.join(", ")})`;
  },
  encodeRows: encodeObjects,
  skipLocked: (of) => ` FOR UPDATE OF ${of} SKIP LOCKED`,
  forUpdate: (of) => ` FOR UPDATE OF ${of}`,
};

export const DIALECTS: Readonly<Record<EngineName, Dialect>> = { sqlite, postgres };
