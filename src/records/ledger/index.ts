// The ledger: one port, two engines (SQLite, PostgreSQL), one contract suite (test/contract/ledger).

import type { Instant } from "../../kernel/time.ts";
import type { BackgroundLedger } from "./background.ts";
import type { BudgetLedger } from "./budgets.ts";
import type { ChatLedger } from "./chats.ts";
import type { ClaimLedger } from "./claims.ts";
import type { IncidentLedger } from "./incidents.ts";
import type { MetricsLedger } from "./metrics.ts";
import type { ModelCallLedger } from "./model-calls.ts";
import type { OutboxLedger } from "./outbox.ts";
import type { NodeLedger, ReadingLedger } from "./reading.ts";
import type { RolloutLedger } from "./rollouts.ts";
import type { SlotLedger } from "./slots.ts";
import type { TriggerLedger } from "./triggers.ts";
import type { WorkflowLedger } from "./workflows.ts";

/**
 * Every method may throw `Fault` `store.busy` (retry later; nothing was written), `store.full`, `store.unavailable`,
 * `store.corrupt`. A method that resolved has been committed durably.
 */
export interface Ledger
  extends SlotLedger,
    ClaimLedger,
    OutboxLedger,
    ReadingLedger,
    NodeLedger,
    BudgetLedger,
    BackgroundLedger,
    IncidentLedger,
    TriggerLedger,
    ChatLedger,
    WorkflowLedger,
    RolloutLedger,
    MetricsLedger,
    ModelCallLedger {
  readonly engine: "sqlite" | "postgres";
  /** The ledger's wall clock: the database's on PostgreSQL, the caller's on SQLite. */
  now(): Promise<Instant>;
  /** Calls back when somebody changed the ledger: another process, or a caller of this very object. Returns an unsubscribe. */
  onChange(listener: () => void): () => void;
  /** Wakes the other processes of this ledger, and the listeners of this one (L11). Called by every surface after a change. */
  wakeOthers(): Promise<void>;
  close(): Promise<void>;
}
