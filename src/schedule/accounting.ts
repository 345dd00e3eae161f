// Builds the list of a decision: runs and closed stretches in slot order, neighbours with one fate joined into one row.

import type { Instant } from "../kernel/time.ts";
import type { CloseSlots, RunSlot } from "../records/ledger/slots.ts";
import type { Stretch } from "./due.ts";

export type Fate = Pick<CloseSlots, "state" | "reason">;

export interface Accounting {
  readonly slots: (RunSlot | CloseSlots)[];
  close(fate: Fate, stretch: Stretch): void;
  closeOne(fate: Fate, slot: Instant): void;
  run(slot: RunSlot): void;
}

/** Entries must be added in slot order, without gaps: a joined row stands for every slot from its first to its last. */
export function makeAccounting(): Accounting {
  const slots: (RunSlot | CloseSlots)[] = [];
  function close(fate: Fate, stretch: Stretch): void {
    const previous = slots.at(-1);
    if (previous?.kind !== "close" || previous.state !== fate.state || previous.reason !== fate.reason) {
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
