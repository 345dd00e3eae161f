// The version that each task of a run got with its first attempt, and keeps over retries and resumes (DESIGN §12).
//
// I1. Every attempt with a version has a row that says so: whoever goes on with the run reads it there.

import type { Executor } from "../../records/executor.ts";
import type { Context } from "../context.ts";
import type { RolloutWatch } from "../executors/rollout-watch.ts";
import { untilStored } from "../until-stored.ts";

export interface PinnedVersions {
  /** The same for every attempt with this key; undefined = the preferred one. */
  versionFor(executor: string, key: string): string | undefined;
}

export interface PinDeps {
  context: Context;
  /** Aborts when waiting for the store must end. */
  giveUp(): AbortSignal;
  rollouts: Pick<RolloutWatch, "isEmpty" | "prepare" | "versionFor">;
}

/** Reads nothing but the rollouts where there are none. */
export async function openPins({ context, rollouts, giveUp }: PinDeps, runId: string) {
  await rollouts.prepare();
  const known = new Map<string, string>();
  const rows = rollouts.isEmpty
    ? []
    : await untilStored(context, "read tasks", () => context.ledger.tasksOf(runId), giveUp());
  for (const { admission, idempotencyKey } of rows)
    if (admission?.executor !== undefined && admission.version !== undefined)
      known.set(pinKey(admission.executor, idempotencyKey), admission.version);
  return (table: ReadonlyMap<string, readonly Executor[]>): PinnedVersions => ({
    versionFor(executor, key) {
      const pinned = known.get(pinKey(executor, key));
      if (pinned !== undefined || rollouts.isEmpty) return pinned;
      const local = table.get(executor)?.filter(({ kind }) => kind !== "remote") ?? [];
      const versions = local.map(({ version }) => version);
      const chosen = rollouts.versionFor(executor, key, versions);
      if (chosen !== undefined) known.set(pinKey(executor, key), chosen);
      return chosen;
    },
  });
}

const pinKey = (executor: string, key: string) => `${executor}\n${key}`;
