// What a task hands back, without secrets: a function gives back whatever it was given, and the ledger keeps it.

import type { Redact } from "../kernel/redact.ts";
import { mapRecord } from "../kernel/redact-value.ts";
import type { Outcome } from "../records/outcome.ts";

/** A copy with every string of it redacted, keys too; the outcome itself where nothing had to be. */
export function redactOutcome(redact: Redact, outcome: Outcome): Outcome {
  const text = JSON.stringify(outcome);
  return redact(text) === text ? outcome : (mapRecord(outcome, redact) as unknown as Outcome);
}
