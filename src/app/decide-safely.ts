// Deciding for jobs of which one may be unreadable: it must not stop the others.

import { messageOf } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { MINUTE } from "../kernel/time.ts";
import type { Definition } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { DecideJob } from "../records/ledger/slots.ts";
import { makeDecide } from "../schedule/decide.ts";

/**
 * `schedule/`'s decision; a job whose document this version cannot read keeps its cursor where it is and is looked at
 * again in a minute. Nothing is lost: its slots stay unaccounted, and `status` and `doctor` show it as overdue.
 */
export function decideSafely(parseJob: (definition: Definition) => Job, log: Log): DecideJob {
  const decide = makeDecide(parseJob);
  return (view, now) => {
    try {
      return decide(view, now);
    } catch (error) {
      const { jobId } = view.definition;
      log.error("job-undecidable", { jobId, error: messageOf(error) });
      const { nextSlot } = view.cursor;
      const next = nextSlot === undefined ? undefined : { slot: nextSlot, dueAt: now + MINUTE };
      return { slots: [], endOpenRuns: [], cancelRuns: [], next };
    }
  };
}
