// The one seam between the ledger and a database engine: statements with `?` parameters, and transactions.
//
// I1. Inside `transaction` every statement goes to the same session; nothing else is interleaved with it.
// I2. A transaction is committed durably when its promise resolves, and has left no trace when it rejects.
// I3. Errors of an engine leave as `Fault` `store.*` (faults.ts); anything else is a bug of ours.

/** What a parameter may be: booleans are 0 and 1, documents are JSON text. */
export type SqlValue = string | number | null;

/** One row; the codecs give it its type. */
export type Row = Record<string, unknown>;

export type EngineName = "sqlite" | "postgres";

/** Statements on one session. SQL uses `?` for parameters on both engines and never holds a literal `?`. */
export interface Statements {
  all(sql: string, params?: readonly SqlValue[]): Promise<Row[]>;
  get(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined>;
  /** Returns how many rows it changed. */
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  /** A script without parameters; may hold several statements. */
  exec(script: string): Promise<void>;
}

/** A database. `close` is idempotent. */
export interface Connection extends Statements {
  readonly engine: EngineName;
  /**
   * Runs `work` in one write transaction (SQLite: BEGIN IMMEDIATE). A serialization failure or deadlock of PostgreSQL, and
   * on SQLite the failure of another one that shares the commit, run `work` again, so it must be repeatable.
   * `invite` is called on SQLite between the work and its commit: a transaction that it sets off shares the commit.
   */
  transaction<Result>(
    work: (statements: Statements) => Promise<Result>,
    invite?: () => void,
  ): Promise<Result>;
  close(): Promise<void>;
}
