// The ledger's port for what a tree of runs may spend and has spent (S3).
//
// I1. A reservation counts as spent until it is settled: one of a dead owner stays spent.
// I2. `spent + reserved` never passes the limit: one compare-and-set per reservation.

/** US dollars are counted in millionths: whole numbers on both engines. */
export interface Spending {
  inputTokens: number;
  outputTokens: number;
  microUsd: number;
  calls: number;
}

export interface Budget {
  rootId: string;
  /** Undefined = no limit. */
  maxTokens: number | undefined;
  maxMicroUsd: number | undefined;
  /** Settled. */
  spent: Spending;
  reservedTokens: number;
  reservedMicroUsd: number;
}

export interface Reservation {
  rootId: string;
  tokens: number;
  microUsd: number;
}

export type ReserveAnswer = { kind: "reserved" } | { kind: "refused"; budget: Budget };

export interface BudgetLedger {
  /** Makes the root's row if there is none; limits of an existing row only ever shrink. */
  openBudget(
    rootId: string,
    limits: { maxTokens?: number | undefined; maxMicroUsd?: number | undefined },
  ): Promise<Budget>;
  reserve(reservation: Reservation): Promise<ReserveAnswer>;
  /** Gives a reservation back and counts what was really spent, in one statement. Spending beyond it is counted too. */
  settle(reservation: Reservation, spent: Spending): Promise<void>;
  budget(rootId: string): Promise<Budget | undefined>;
}
