// One pass of the rules over one view of a text: the text, and what forms have learned of it on their way.
//
// I1. It lives as long as its pass: nothing of one text is known to the scan of another.

import { type Assignment, assignmentsIn } from "./assignments.ts";

export interface Pass {
  /** In folded form. */
  text: string;
  /** Where a judge's last command, found innocent, ends: its other words up to there need not be judged again. */
  innocentUntil: Map<object, number>;
  /** Whether the text mentions what a form needs. Looked for once. */
  mentions(needs: RegExp): boolean;
  /** The variables with a secret's value. Looked for once. */
  assignments(): readonly Assignment[];
}

export function passOver(text: string): Pass {
  const mentioned = new Map<RegExp, boolean>();
  let assignments: readonly Assignment[] | undefined;
  return {
    text,
    innocentUntil: new Map(),
    mentions(needs) {
      const known = mentioned.get(needs) ?? needs.test(text);
      mentioned.set(needs, known);
      return known;
    },
    assignments() {
      assignments ??= assignmentsIn(text);
      return assignments;
    },
  };
}
