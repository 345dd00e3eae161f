// The ledger's contract on PostgreSQL.

import { describe } from "vitest";
import { ledgerContract } from "../contract/ledger/contract.ts";
import { postgresBench } from "../contract/ledger/postgres-bench.ts";
import { hasPostgres } from "../support/postgres.ts";

describe.skipIf(!hasPostgres)("with a PostgreSQL server", () => {
  ledgerContract("postgres", postgresBench);
});
