// Who has a task done here from another machine (W5): kept in the row of its run.

import type { Instant } from "../kernel/time.ts";

/** Who had a task done here; in its row. */
export interface RemoteCaller {
  /** Its run and task there. */
  run?: string | undefined;
  task?: string | undefined;
  attempt: number;
  leaseMs: number;
  /** By this ledger's clock; absent = none. */
  deadlineAt?: Instant | undefined;
  /** Of executor and params: the same key with other ones is a mistake. */
  digest: string;
}
