// PostgreSQL as a Connection: a small pool, prepared statements by text, `?` rewritten to `$n`.
//
// I1. int8 is read as a number: every number of the ledger is below 2^53.
// I2. A session whose transaction broke off is thrown away, never given back.

import type { Pool, PoolClient, PoolConfig } from "pg";
import type { Connection, Row, SqlValue, Statements } from "./connection.ts";
import { isRepeatable, postgresFault } from "./faults.ts";

/** Sessions per process: a pass, completions, beats and a reader at once, with room to spare. */
const MAX_SESSIONS = 8;
/** How often a transaction that lost against another one is run again before it counts as busy. */
const MAX_REPEATS = 5;
const INT8_OID = 20;

interface Prepared {
  name: string;
  text: string;
}

/** The configuration of every session, for the pool and for the listener. */
export async function sessionConfig(url: string): Promise<PoolConfig> {
  const { types } = (await import("pg")).default;
  return {
    connectionString: url,
    application_name: "nightshift",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      getTypeParser: ((oid: number, format?: string) =>
        oid === INT8_OID && format !== "binary"
          ? Number
          : Reflect.apply(types.getTypeParser, types, [oid, format])) as typeof types.getTypeParser,
    },
  };
}

/** Opens a pool and checks that the server answers. The caller closes it. */
export async function openPostgres(url: string): Promise<Connection> {
  const { Pool } = (await import("pg")).default;
  const pool = new Pool({ ...(await sessionConfig(url)), max: MAX_SESSIONS, idleTimeoutMillis: 30_000 });
  // An idle session that the server ends must not end the process; the next query meets the failure.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    (await pool.connect()).release();
  } catch (error) {
    await pool.end();
    throw postgresFault(error);
  }
  return makeConnection(pool);
}

function makeConnection(pool: Pool): Connection {
  const prepare = makePreparer();
  const statements = statementsOn(pool, prepare);
  let closing: Promise<void> | undefined;
  return {
    engine: "postgres",
    ...statements,
    async transaction(work) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await transact(pool, prepare, work);
        } catch (error) {
          if (attempt >= MAX_REPEATS || !isRepeatable(error)) throw error;
        }
      }
    },
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}

async function transact<Result>(
  pool: Pool,
  prepare: (sql: string) => Prepared,
  work: (statements: Statements) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool);
  const statements = statementsOn(client, prepare);
  let broken: Error | undefined;
  try {
    await statements.exec("BEGIN");
    const result = await work(statements);
    await statements.exec("COMMIT");
    return result;
  } catch (error) {
    await statements.exec("ROLLBACK").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw postgresFault(error);
  }
}

function statementsOn(session: Pool | PoolClient, prepare: (sql: string) => Prepared): Statements {
  const query = async (sql: string, params: readonly SqlValue[]) => {
    try {
      return await session.query<Row>({ ...prepare(sql), values: [...params] });
    } catch (error) {
      throw postgresFault(error);
    }
  };
  return {
    all: async (sql, params = []) => (await query(sql, params)).rows,
    get: async (sql, params = []) => (await query(sql, params)).rows[0],
    run: async (sql, params = []) => (await query(sql, params)).rowCount ?? 0,
    async exec(script) {
      try {
        await session.query(script);
      } catch (error) {
        throw postgresFault(error);
      }
    },
  };
}

/** Numbers parameters and names statements, once per text, so that the server plans each only once per session. */
function makePreparer(): (sql: string) => Prepared {
  const known = new Map<string, Prepared>();
  return (sql) => {
    let prepared = known.get(sql);
    if (!prepared) {
      let count = 0;
      prepared = { name: `nightshift${known.size}`, text: sql.replace(/\?/g, () => `$${++count}`) };
      known.set(sql, prepared);
    }
    return prepared;
  };
}
