// What a listing of job files means for the ledger (D2, D3, T3). Pure: values in, actions out; app/ applies them.
//
// I1. Absence means nothing while the folder cannot be read, and never for a file that is there but unsettled or broken.
// I2. One id has one file: the path known first keeps it, the other is held.
// I3. An action is given only where the ledger does not already say so: a second look at the same facts gives none.

import { type Claimant, claimIds } from "./reconcile-claims.ts";
import { judgeMissing } from "./reconcile-missing.ts";
import type { KnownJob, ReconcileAction, ReconcileInput, ReconcileResult } from "./reconcile-types.ts";

export type {
  EntryReading,
  KnownJob,
  ReconcileAction,
  ReconcileInput,
  ReconcileResult,
} from "./reconcile-types.ts";

/** Decides what to record. Applying the actions and calling again with what the ledger then knows gives no further ones. */
export function reconcileJobFiles(input: ReconcileInput): ReconcileResult {
  const { listing } = input;
  if (!listing.isReadable)
    return {
      actions: [],
      held: input.previous?.held ?? new Map(),
      missingSinceMs: new Map(),
      lookAgainInMs: undefined,
    };
  const contest = claimIds(input);
  const missing = judgeMissing(input, contest);
  const held = new Map<string, { jobId: string; reason: string }>();
  const actions: ReconcileAction[] = [...missing.moves];
  const moved = new Set(missing.moves.map((move) => move.source));

  for (const problem of contest.problems) {
    // A job whose id now stands in another file does not suffer from what became of its old one.
    const owners = contest.standingAt(problem.source);
    const jobId = owners.at(-1)?.jobId ?? problem.jobId;
    held.set(problem.source, { jobId, reason: problem.reason });
    if (owners.length === 0) actions.push(...holdActions(input, undefined, problem));
    for (const owner of owners)
      actions.push(...holdActions(input, owner, { ...problem, jobId: owner.jobId }));
  }
  for (const claimant of contest.winners.values()) {
    if (moved.has(claimant.source)) continue;
    const refusal = pastRefusal(input, claimant);
    if (refusal === undefined) {
      actions.push(...acceptActions(input, claimant));
      continue;
    }
    const { jobId, source } = claimant;
    held.set(source, { jobId, reason: refusal });
    actions.push(...holdActions(input, undefined, { jobId, source, reason: refusal }));
  }
  actions.push(...unholdMoved(input, missing.moves), ...missing.actions);
  return {
    actions,
    held,
    missingSinceMs: missing.sinceMs,
    lookAgainInMs: lookAgainInMs(input, missing.dueInMs),
  };
}

/** T3: only a file that no ledger row knows can be held for a past instant; a known one is simply completed. */
function pastRefusal(input: ReconcileInput, claimant: Claimant): string | undefined {
  if (input.known.has(claimant.jobId) || !claimant.reading) return undefined;
  return input.isPastUnknown(claimant.reading) ? "its time has already passed" : undefined;
}

function acceptActions(input: ReconcileInput, claimant: Claimant): ReconcileAction[] {
  const { jobId, source, entry } = claimant;
  const known = input.known.get(jobId);
  const actions: ReconcileAction[] = [];
  const isAlive = known !== undefined && !known.isRemoved;
  if (isAlive && known.digest === entry.digest) {
    if (known.source !== source) actions.push({ kind: "move", jobId, from: known.source, source });
  } else {
    // A claimant without a reading is the very version the ledger has, so it never comes here.
    const reading = claimant.reading ?? input.read(entry, jobId);
    if (reading.kind === "valid")
      actions.push({
        kind: "define",
        jobId,
        source,
        entry,
        reading,
        was: wasOf(known),
        version: known?.version ?? 0,
      });
  }
  if (isAlive && known.heldReason !== undefined) actions.push({ kind: "unhold", jobId, source });
  return actions;
}

function wasOf(known: KnownJob | undefined): "new" | "changed" | "returned" {
  if (!known) return "new";
  return known.isRemoved ? "returned" : "changed";
}

function holdActions(
  input: ReconcileInput,
  owner: KnownJob | undefined,
  problem: { source: string; jobId: string; reason: string },
): ReconcileAction[] {
  const said = owner ? owner.heldReason : input.previous?.held.get(problem.source)?.reason;
  return said === problem.reason ? [] : [{ kind: "hold", ...problem, isKnown: owner !== undefined }];
}

function unholdMoved(
  input: ReconcileInput,
  moves: readonly { jobId: string; source: string }[],
): ReconcileAction[] {
  return moves.flatMap(({ jobId, source }) =>
    input.known.get(jobId)?.heldReason === undefined ? [] : [{ kind: "unhold" as const, jobId, source }],
  );
}

function lookAgainInMs(input: ReconcileInput, missingDueInMs: number | undefined): number | undefined {
  const { settlesAt } = input.listing;
  const waits = [missingDueInMs, settlesAt === undefined ? undefined : Math.max(0, settlesAt - input.now)];
  const known = waits.filter((wait) => wait !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
