// The ledger's contract on SQLite, with every driver this Node can load.

import { ledgerContract } from "../contract/ledger/contract.ts";
import { sqliteBench } from "../contract/ledger/sqlite-bench.ts";

const hasNodeSqlite = Number(process.versions.node.split(".")[0]) >= 22;

ledgerContract("libsql", () => sqliteBench("libsql"));
if (hasNodeSqlite) ledgerContract("node:sqlite", () => sqliteBench("node:sqlite"));
