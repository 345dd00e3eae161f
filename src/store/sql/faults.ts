// Errors of the engines, by their codes, as the faults a person meets. Never by message text.

import { Fault, isFault, messageOf } from "../../kernel/errors.ts";

/** Primary result codes of SQLite. @source https://www.sqlite.org/rescode.html */
const SQLITE_CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  26: "SQLITE_NOTADB",
};

/** Another process holds the write lock, or two transactions met: nothing was written. */
export function busyFault(cause: unknown): Fault {
  return new Fault("store.busy", "the ledger is busy: another process is writing", {
    hint: "Try again in a moment.",
    retry: "later",
    cause,
  });
}

/** The disk (or the quota) under the ledger has no room left. */
function fullFault(cause: unknown): Fault {
  return new Fault("store.full", "the disk under the ledger is full", {
    hint: "Free some space; the node goes on by itself.",
    retry: "later",
    cause,
  });
}

/** The store cannot be reached or read at present. */
export function unavailableFault(cause: unknown, retry: "later" | "never" = "later"): Fault {
  return new Fault("store.unavailable", `the ledger cannot be reached: ${messageOf(cause)}`, {
    hint: "Check the store's address and permissions, and that its server or disk is up.",
    retry,
    cause,
  });
}

/** The file is no database, or is damaged. */
export function corruptFault(cause: unknown): Fault {
  return new Fault("store.corrupt", `the ledger's file is damaged or no database: ${messageOf(cause)}`, {
    hint: "Move the file aside and restore a backup; job files are not affected.",
    cause,
  });
}

function sqliteCode(error: object): string | undefined {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return SQLITE_CODES[errcode & 0xff];
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  return Object.values(SQLITE_CODES).find((known) => code === known || code.startsWith(`${known}_`));
}

/** Translates an error of either SQLite driver; an error that is none of the store's passes through. */
export function sqliteFault(error: unknown): unknown {
  if (typeof error !== "object" || error === null || isFault(error)) return error;
  switch (sqliteCode(error)) {
    case "SQLITE_BUSY":
    case "SQLITE_LOCKED":
      return busyFault(error);
    case "SQLITE_FULL":
      return fullFault(error);
    case "SQLITE_CORRUPT":
    case "SQLITE_NOTADB":
      return corruptFault(error);
    case "SQLITE_READONLY":
    case "SQLITE_IOERR":
    case "SQLITE_CANTOPEN":
      return unavailableFault(error);
    default:
      return error;
  }
}

/** SQLSTATEs after which the same transaction may simply run again. @source PostgreSQL appendix A */
const REPEATABLE = new Set(["40001", "40P01", "23505"]);

/**
 * Whether PostgreSQL says that repeating the whole transaction can succeed. A broken unique index counts: we look
 * before we insert, so somebody else came between, and the second look sees their row.
 */
export function isRepeatable(fault: unknown): boolean {
  const cause = isFault(fault) ? fault.cause : undefined;
  return typeof cause === "object" && cause !== null && REPEATABLE.has(String(Reflect.get(cause, "code")));
}

/** Translates an error of a PostgreSQL session. An error without an SQLSTATE is one of the connection. */
export function postgresFault(error: unknown): unknown {
  if (typeof error !== "object" || error === null || isFault(error)) return error;
  const code = String(Reflect.get(error, "code") ?? "");
  if (REPEATABLE.has(code) || code === "55P03") return busyFault(error);
  if (code === "53100") return fullFault(error);
  if (code.startsWith("28") || code === "3D000") return unavailableFault(error, "never");
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  if (!isSqlState || /^(08|53|57|58|25006)/.test(code)) return unavailableFault(error);
  return error;
}
