// The two SQLite drivers behind one synchronous face: `node:sqlite` where Node has it (≥ 22), `libsql` on Node 20.

import type { Row, SqlValue } from "./connection.ts";

export type SqliteDriverName = "node:sqlite" | "libsql";

interface SqliteStatement {
  all(params: readonly SqlValue[]): Row[];
  run(params: readonly SqlValue[]): number;
}

export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement;
  exec(script: string): void;
  close(): void;
}

interface NodeSqlite {
  DatabaseSync: new (
    path: string,
  ) => {
    prepare(sql: string): {
      all(...params: SqlValue[]): Row[];
      run(...params: SqlValue[]): { changes: number | bigint };
    };
    exec(sql: string): void;
    close(): void;
  };
}

/** Loads `node:sqlite` without its ExperimentalWarning; other warnings pass. Undefined where Node has none. */
async function loadNodeSqlite(): Promise<NodeSqlite | undefined> {
  const emit = process.emitWarning;
  const quiet = (...args: unknown[]) => {
    const about = args[0] instanceof Error ? args[0].message : String(args[0]);
    if (!/SQLite is an experimental feature/.test(about)) Reflect.apply(emit, process, args);
  };
  process.emitWarning = quiet as typeof process.emitWarning;
  try {
    // A name in a variable: bundlers and Node 20's types do not know the module.
    const name: string = "node:sqlite";
    return (await import(name)) as NodeSqlite;
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emit;
  }
}

async function openNodeSqlite(path: string): Promise<SqliteDatabase | undefined> {
  const module = await loadNodeSqlite();
  if (!module) return undefined;
  const database = new module.DatabaseSync(path);
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      return {
        all: (params) => statement.all(...params),
        run: (params) => Number(statement.run(...params).changes),
      };
    },
    exec: (script) => database.exec(script),
    close: () => database.close(),
  };
}

async function openLibsql(path: string): Promise<SqliteDatabase> {
  const { default: Database } = await import("libsql");
  const database = openOrThrow(() => new Database(path));
  return {
    prepare(sql) {
      const statement = database.prepare(sql);
      // Rows as arrays: libsql takes twice as long to make objects of them as we do.
      const names = statement.reader
        ? statement
            .raw()
            .columns()
            .map(({ name }) => name)
        : [];
      // An array, always: libsql takes a lone null for an object of named parameters. `all`, never `get`: that one
      // adds an enumerable `_metadata` to the row.
      return {
        all: (params) => (statement.all([...params]) as unknown[][]).map((values) => rowOf(names, values)),
        run: (params) => statement.run([...params]).changes,
      };
    },
    exec: (script) => void database.exec(script),
    close: () => void database.close(),
  };
}

function rowOf(names: readonly string[], values: readonly unknown[]): Row {
  const row: Row = {};
  for (let index = 0; index < names.length; index++) row[names[index] ?? ""] = values[index];
  return row;
}

/** libsql gives no code when it cannot open a file; whatever else is wrong with it shows at the first statement. */
function openOrThrow<Database>(open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    throw Object.assign(error as Error, { code: "SQLITE_CANTOPEN" });
  }
}

/** Opens a file with the named driver, or with what this Node has. Errors are the driver's own. */
export async function openSqliteDatabase(
  path: string,
  driver: SqliteDriverName | undefined,
): Promise<SqliteDatabase> {
  if (driver === "libsql") return openLibsql(path);
  const native = await openNodeSqlite(path);
  if (native) return native;
  if (driver === "node:sqlite") throw new Error("this Node has no node:sqlite; use 22 or later, or libsql");
  return openLibsql(path);
}
