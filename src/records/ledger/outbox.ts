// The ledger's port for TO WHOM: the outbox (O1–O5). Rows are put by `closeRuns`, `pass` and `put`; this port drains them.

import type { Instant } from "../../kernel/time.ts";
import type { Delivery, DeliveryState, NewDelivery, Receipt } from "../delivery.ts";

/** How a try ended. `retry` returns the row to `queued` with `nextAttemptAt` (O2). */
export type DeliveryClosing = { id: string; token: number; owner: string } & (
  | { kind: "delivered"; receipt: Receipt; finishedAt: Instant }
  /** `isUntried`: nothing was sent (its platform was waited for), so it counts as no try. */
  | { kind: "retry"; error: string; nextAttemptAt: Instant; isUntried?: true }
  | { kind: "dead"; error: string; finishedAt: Instant }
  | { kind: "unknown"; error: string; finishedAt: Instant }
);

/** How many times as long a row with a file may be held: it is slow to send. */
export const MEDIA_LEASE_FACTOR = 6;

export interface DeliveryFilter {
  state?: readonly DeliveryState[];
  runId?: string;
  jobId?: string;
  before?: string;
  limit?: number;
}

export interface OutboxLedger {
  /** Rows outside a run's closing (digests, tests). Known keys change nothing, tombstones of pruned keys included (L8). */
  putDeliveries(deliveries: readonly NewDelivery[], now: Instant): Promise<void>;
  /** queued → sending with a lease (of a file `MEDIA_LEASE_FACTOR` times as long); per target only the oldest unfinished row, in order (O2). */
  takeDeliveries(request: {
    nodeId: string;
    now: Instant;
    leaseMs: number;
    limit: number;
  }): Promise<readonly Delivery[]>;
  /** Old tokens change nothing. Answers in order. */
  closeDeliveries(closings: readonly DeliveryClosing[]): Promise<readonly ("closed" | "lost")[]>;
  /** `sending` rows whose owner is dead or whose lease has run out, ours now with a higher token: the caller decides by repeatability (O3). */
  takeOverDeliveries(request: {
    nodeId: string;
    now: Instant;
    leaseMs: number;
    deadNodes: readonly string[];
  }): Promise<readonly Delivery[]>;
  /** A person sends a dead or unknown row again: back to `queued`, tries counted from 0. Undefined = not in such a state. */
  retryDelivery(id: string, now: Instant): Promise<Delivery | undefined>;
  /** A person lets a dead or unknown row rest: `suppressed`, with who and why. Undefined = not in such a state. */
  dismissDelivery(id: string, dismissal: { reason: string; now: Instant }): Promise<Delivery | undefined>;
  /**
   * Empties the text of rows that ended `delivered` or `suppressed` before this instant, and lets go of their files;
   * everything else of them stays.
   */
  blankDeliveries(request: { before: Instant; limit: number }): Promise<number>;
  /** Which of these kept files (`…/<runId>/<name>`) a row still names, or may yet: its run's tree is not at its end. */
  knownMediaFiles(files: readonly string[]): Promise<ReadonlySet<string>>;
  delivery(idOrPrefix: string): Promise<Delivery | undefined>;
  /** Newest first; of one run in the reverse order of their parts. */
  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]>;
  /** When the next row becomes sendable; undefined = none waits. */
  nextDeliveryAt(): Promise<Instant | undefined>;
}
