// The numbered migrations, in order. A migration that has been released never changes; a new one is added.

import type { Dialect } from "../dialect.ts";
import { ledgerTables } from "./0001-ledger.ts";
import { clockColumns } from "./0002-clock.ts";
import { agentTables } from "./0003-agents.ts";
import { backgroundTable } from "./0004-background.ts";
import { workflowTables } from "./0005-workflows.ts";
import { incidentTable } from "./0006-incidents.ts";
import { eventTables } from "./0007-events.ts";
import { chatOffsetTable } from "./0008-chats.ts";
import { mediaColumns } from "./0009-media.ts";
import { rolloutTables } from "./0010-rollouts.ts";

/** Number n of the list takes a database from version n − 1 to n. */
export const MIGRATIONS: readonly ((dialect: Dialect) => readonly string[])[] = [
  ledgerTables,
  clockColumns,
  agentTables,
  backgroundTable,
  workflowTables,
  incidentTable,
  eventTables,
  chatOffsetTable,
  mediaColumns,
  rolloutTables,
];
