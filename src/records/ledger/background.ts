// The ledger's port for background processes: who lives, who has ended, and who was told of it (DESIGN §8).
//
// I1. A row leaves `running` once. Of many who notice an end, one is answered true.
// I2. An end is told of once or consumed once, never both: `consumeBackground` and `noticeBackground` exclude each other.

import type { Instant } from "../../kernel/time.ts";
import type { BackgroundRecord, BackgroundState } from "../background.ts";
import type { NewDelivery } from "../delivery.ts";

export interface BackgroundEnding {
  id: string;
  state: Exclude<BackgroundState, "running">;
  exitCode: number | undefined;
  endedAt: Instant;
  outputBytes: number;
}

export interface BackgroundNotice {
  id: string;
  at: Instant;
  /** `exit` = the one message of its end; `news` = a watched line, a heartbeat. */
  kind: "exit" | "news";
  /** For news: what `progress` was when this was decided, and what it is now. Who is late changes nothing. */
  progress?: { from: string | undefined; to: string };
  deliveries: readonly NewDelivery[];
  /** Also, or instead, a line in this run's log. */
  event?: { runId: string; data: Record<string, unknown> };
}

export interface BackgroundFilter {
  /** null = those that are no run's. */
  ownerRunId?: string | null;
  session?: string;
  state?: readonly BackgroundState[];
  /** Default 1,000. */
  limit?: number;
}

export interface BackgroundLedger {
  /** Commits a process before it is released (L10). `full` = its owner has `mostRunning` running; nothing was written. */
  putBackground(record: BackgroundRecord, mostRunning: number): Promise<"put" | "full">;
  /** By id, or a beginning of it (with or without `proc_`) that no other has. */
  background(idOrPrefix: string): Promise<BackgroundRecord | undefined | { ambiguous: readonly string[] }>;
  /** Newest first. */
  backgrounds(filter: BackgroundFilter): Promise<readonly BackgroundRecord[]>;
  /** running → its end. False = it had ended already. */
  endBackground(ending: BackgroundEnding): Promise<boolean>;
  /** Somebody has seen its end. False = a message was put before, or somebody else was first, or it still runs. */
  consumeBackground(id: string, at: Instant): Promise<boolean>;
  /** Puts the messages in the transaction that marks them. False = consumed, told already, or overtaken. */
  noticeBackground(notice: BackgroundNotice): Promise<boolean>;
  /** Another owner; `ownerRunId` undefined = the home. False = there is no such process. */
  handOffBackground(id: string, to: { ownerRunId: string | undefined; session: string }): Promise<boolean>;
  /** Asks whoever holds it to end it. */
  requestBackgroundKill(id: string, at: Instant): Promise<void>;
  /** Forgets ended ones; those that run stay. */
  removeBackgrounds(ids: readonly string[]): Promise<void>;
}
