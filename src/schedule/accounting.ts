// Builds the list of a decision: runs and closed stretches in slot order, neighbours with one fate joined into one row.

import type { Instant } from "../kernel/time.ts";
import type { CloseSlots, RunSlot } from "../records/ledger/slots.ts";
import type { ScheduledJob, Stretch } from "./open-slots.ts";

export type Fate = Pick<CloseSlots, "state" | "reason">;

export interface Accounting {
  readonly slots: (RunSlot | CloseSlots)[];
  close(fate: Fate, stretch: Stretch): void;
  closeOne(fate: Fate, slot: Instant): void;
  run(slot: RunSlot): void;
}

/**
 * Entries must be added in slot order, without gaps: a joined row stands for every slot from its first to its last, so
 * none is joined across a slot that has a row already.
 */
export function makeAccounting({ accounted }: Pick<ScheduledJob, "accounted">): Accounting {
  const slots: (RunSlot | CloseSlots)[] = [];
  const isBroken = (from: Instant, to: Instant) =>
    accounted !== undefined && [...accounted].some((slot) => slot > from && slot < to);
  function close(fate: Fate, stretch: Stretch): void {
    const previous = slots.at(-1);
    const isSame =
      previous?.kind === "close" && previous.state === fate.state && previous.reason === fate.reason;
    if (!isSame || isBroken(previous.last, stretch.first)) {
      slots.push({ kind: "close", ...fate, ...stretch });
      return;
    }
    slots[slots.length - 1] = {
      ...previous,
      last: stretch.last,
      count: previous.count + stretch.count,
      isCountAtLeast: previous.isCountAtLeast || stretch.isCountAtLeast,
    };
  }
  return {
    slots,
    close,
    closeOne: (fate, slot) => close(fate, { first: slot, last: slot, count: 1, isCountAtLeast: false }),
    run: (slot) => slots.push(slot),
  };
}
