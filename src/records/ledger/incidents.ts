// The ledger's port for incidents. They are written where runs end (`Settlement.incidents`); here they are read,
// acknowledged and, where news was held back, told of.

import type { Instant } from "../../kernel/time.ts";
import type { Definition } from "../definition.ts";
import type { NewDelivery } from "../delivery.ts";
import type { Incident, IncidentState } from "../incident.ts";

export interface IncidentFilter {
  state?: readonly IncidentState[];
  jobId?: string;
  /** Page: incidents whose newest failure is older than this one's. */
  before?: string;
  /** Default 50. */
  limit?: number;
}

/** Held-back news, with its job as it is now; undefined = the job was removed. */
export interface DueNews {
  incident: Incident;
  definition: Definition | undefined;
}

export interface IncidentLedger {
  /** By the newest failure, newest first. */
  incidents(filter: IncidentFilter): Promise<readonly Incident[]>;
  /** By id, or a beginning of it that no other has. */
  incident(idOrPrefix: string): Promise<Incident | undefined>;
  /** open → acknowledged, with who and why; news that waits is dropped. Undefined = it is not open. */
  acknowledgeIncident(
    id: string,
    acknowledgement: { by: string; note: string | undefined; at: Instant },
  ): Promise<Incident | undefined>;
  /**
   * The held-back news that is due, as messages: `tell` makes them inside the transaction that marks the incidents told.
   * Pure; returns how many incidents were told of.
   */
  tellIncidents(request: {
    now: Instant;
    limit: number;
    tell(due: readonly DueNews[]): readonly NewDelivery[];
  }): Promise<number>;
  /** When the next held-back news is due; undefined = none waits. */
  nextNewsAt(): Promise<Instant | undefined>;
  /** Forgets incidents that were resolved before this instant. */
  forgetIncidents(request: { before: Instant; limit: number }): Promise<number>;
}
