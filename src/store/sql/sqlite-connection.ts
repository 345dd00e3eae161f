// SQLite as a Connection: one session per process and ledger, durable on every commit.
//
// I1. The driver is synchronous, our transactions are not: turns keep other callers' statements out of them.
// I2. Nothing waits longer than `BUSY_TIMEOUT_MS` for another process (L11); then it is `store.busy`.
// I3. A single write, too, is a transaction of its own: libsql leaves a statement that met BUSY unfinished, and one that
//     is not BEGIN then pins this session to its old snapshot, so that every later BEGIN IMMEDIATE fails for ever.

import { chmod, open } from "node:fs/promises";
import type { Connection, Row, SqlValue, Statements } from "./connection.ts";
import { sqliteFault } from "./faults.ts";
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriverName } from "./sqlite-driver.ts";
import { makeTurns } from "./sqlite-turns.ts";

/** L11: the event loop stands still for at most this long. */
const BUSY_TIMEOUT_MS = 50;
/** Tries for the switch to WAL, which needs the file alone for a moment: together about five seconds. */
const WAL_TRIES = 100;

/** Opens (and makes, mode 0600) the file. The caller closes it. */
export async function openSqlite(path: string, driver?: SqliteDriverName): Promise<Connection> {
  try {
    await makePrivateFile(path);
    const database = await openSqliteDatabase(path, driver);
    try {
      prepareSession(database);
    } catch (error) {
      database.close();
      throw error;
    }
    return makeConnection(database);
  } catch (error) {
    throw sqliteFault(error);
  }
}

/** SQLite gives its -wal and -shm files the mode of the database, so making that one first is enough. */
async function makePrivateFile(path: string): Promise<void> {
  try {
    const file = await open(path, "ax", 0o600);
    await file.close();
    await chmod(path, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw Object.assign(new Error(`cannot create ${path}`, { cause: error }), { code: "SQLITE_CANTOPEN" });
  }
}

function prepareSession(database: SqliteDatabase): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  for (let attempt = 1; ; attempt++) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      break;
    } catch (error) {
      const isBusy = Reflect.get(sqliteFault(error) as object, "code") === "store.busy";
      if (!isBusy || attempt >= WAL_TRIES) throw error;
    }
  }
  database.exec("PRAGMA synchronous = FULL");
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("PRAGMA cache_size = -16000");
}

function makeConnection(database: SqliteDatabase): Connection {
  const statements = makeStatements(database);
  const { alone, together } = makeTurns({
    begin: () => statements.run("BEGIN IMMEDIATE"),
    commit: () => statements.run("COMMIT"),
    rollback: () => statements.run("ROLLBACK"),
  });
  let isClosed = false;

  return {
    engine: "sqlite",
    all: (sql, params) => alone(() => statements.all(sql, params)),
    get: (sql, params) => alone(() => statements.get(sql, params)),
    run: (sql, params) => together(() => statements.run(sql, params)),
    exec: (script) => alone(() => statements.exec(script)),
    transaction: (work, invite) => together(() => work(statements), invite),
    close: () =>
      alone(async () => {
        if (isClosed) return;
        isClosed = true;
        database.close();
      }),
  };
}

function makeStatements(database: SqliteDatabase): Statements {
  const prepared = new Map<string, ReturnType<SqliteDatabase["prepare"]>>();
  const prepare = (sql: string) => {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = database.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement;
  };
  const all = async (sql: string, params: readonly SqlValue[] = []): Promise<Row[]> => {
    try {
      return prepare(sql).all(params);
    } catch (error) {
      throw sqliteFault(error);
    }
  };
  return {
    all,
    get: async (sql, params) => (await all(sql, params))[0],
    async run(sql, params = []) {
      try {
        return prepare(sql).run(params);
      } catch (error) {
        throw sqliteFault(error);
      }
    },
    async exec(script) {
      try {
        database.exec(script);
      } catch (error) {
        throw sqliteFault(error);
      }
    },
  };
}
