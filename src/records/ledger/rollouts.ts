// The ledger's port for rollouts, and for what their versions did.

import type { Instant } from "../../kernel/time.ts";
import type { Rollout, VersionAttempt } from "../rollout.ts";

export interface RolloutLedger {
  /** Every one, by executor. */
  rollouts(): Promise<readonly Rollout[]>;
  /**
   * Writes the whole row where the stored revision is the one before it (none for revision 1), with an event of this kind.
   * False = somebody else changed it first; nothing was written.
   */
  changeRollout(rollout: Rollout, event: string): Promise<boolean>;
  /** Removes it where it is still of this revision, with an event `rollout-removed`. False = it is another one by now. */
  removeRollout(of: Pick<Rollout, "executor" | "revision">, by: string, now: Instant): Promise<boolean>;
  /**
   * Attempts of an executor's tasks with a version that ended at `since` or later, the newest first; cancelled and skipped
   * ones are left out.
   */
  versionAttempts(filter: {
    executor: string;
    since: Instant;
    limit: number;
  }): Promise<readonly VersionAttempt[]>;
}
