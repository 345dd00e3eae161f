// The words in which a schedule is refused: what was not understood, and the forms that are.

import { Fault, nearestWord } from "../kernel/errors.ts";

const ACCEPTED_FORMS =
  "Write `30m` or `in 2h` (once), an ISO time (once), `every 5m`, `every monday 9am`, `weekdays at 18:00`, " +
  "`daily at 7am`, `noon`, five or six cron fields such as `0 9 * * 1-5`, or `@daily`.";

export interface Refusal {
  /** The whole text, as the person wrote it. */
  text: string;
  /** Why, as a clause that can follow "schedule "…" is not understood: ". */
  why: string;
  /** The piece that is wrong. */
  token?: string;
  /** Words that could have stood there, for "did you mean". */
  known?: Iterable<string>;
  /** Replaces the list of accepted forms where one thing to do is plain. */
  hint?: string;
}

/** A `schedule.unreadable` fault; its hint names the nearest word and the accepted forms. */
export function unreadable(refusal: Refusal): Fault {
  const nearest =
    refusal.token && refusal.known ? nearestWord(refusal.token.toLowerCase(), refusal.known) : undefined;
  const hint = refusal.hint ?? ACCEPTED_FORMS;
  return new Fault("schedule.unreadable", `schedule "${refusal.text}" is not understood: ${refusal.why}`, {
    hint: nearest ? `Did you mean \`${nearest}\`? ${hint}` : hint,
    details: {
      ...(refusal.token === undefined ? {} : { token: refusal.token }),
      ...(nearest === undefined ? {} : { nearest }),
    },
  });
}
