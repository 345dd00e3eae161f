// Rollouts in the ledger, and the attempts by which their versions are judged.

import type { Instant } from "../../kernel/time.ts";
import type { RolloutLedger } from "../../records/ledger/rollouts.ts";
import type { Rollout, VersionAttempt } from "../../records/rollout.ts";
import type { Admission } from "../../records/run.ts";
import { columnList, decode, ROLLOUT } from "./codecs.ts";
import type { Row } from "./connection.ts";
import { reader } from "./reading.ts";
import { type Store, write } from "./store.ts";

/** The port's part over a store. */
export function rolloutPart(store: Store): RolloutLedger {
  return {
    rollouts: () => rollouts(store),
    changeRollout: (rollout, event) => changeRollout(store, rollout, event),
    removeRollout: (of, by, now) => removeRollout(store, of, { by, now }),
    versionAttempts: (filter) => versionAttempts(store, filter),
  };
}

async function rollouts(store: Store): Promise<readonly Rollout[]> {
  const rows = await reader(store).all(
    `SELECT ${columnList(ROLLOUT, "r")} FROM "rollouts" AS r ORDER BY r."executor"`,
    [],
  );
  return rows.map((row) => decode<Rollout>(ROLLOUT, row));
}

async function changeRollout(store: Store, rollout: Rollout, event: string): Promise<boolean> {
  const { executor, revision, version, baseline, traffic, state, changedAt, changedBy, reason } = rollout;
  const names = Object.keys(ROLLOUT);
  const updates = names.filter((name) => name !== "executor").map((name) => `"${name}" = excluded."${name}"`);
  const isWritten = await write(store, async (tx) => {
    const rows = tx.dialect.encodeRows(ROLLOUT, [rollout]);
    const source = `${columnList(ROLLOUT, "x")} FROM ${tx.dialect.rows("x", ROLLOUT)}`;
    // A row that was removed meanwhile must not come back by somebody who had read it.
    const insert = `INSERT INTO "rollouts" (${names.map((name) => `"${name}"`).join(", ")}) SELECT ${source}`;
    const count =
      revision === 1
        ? await tx.run(`${insert} WHERE true ON CONFLICT ("executor") DO NOTHING`, [rows])
        : await tx.run(
            `${insert} WHERE EXISTS (SELECT 1 FROM "rollouts" AS o WHERE o."executor" = x."executor")
             ON CONFLICT ("executor") DO UPDATE SET ${updates.join(", ")} WHERE "rollouts"."revision" = excluded."revision" - 1`,
            [rows],
          );
    if (count === 0) return false;
    const data = { executor, version, baseline, traffic, state, by: changedBy, ...(reason && { reason }) };
    tx.emit({ runId: undefined, jobId: undefined, at: changedAt, kind: event, data });
    return true;
  });
  if (isWritten) await store.wake();
  return isWritten;
}

async function removeRollout(
  store: Store,
  { executor, revision }: Pick<Rollout, "executor" | "revision">,
  { by, now }: { by: string; now: Instant },
): Promise<boolean> {
  const isRemoved = await write(store, async (tx) => {
    const count = await tx.run(`DELETE FROM "rollouts" WHERE "executor" = ? AND "revision" = ?`, [
      executor,
      revision,
    ]);
    if (count === 0) return false;
    const data = { executor, by };
    tx.emit({ runId: undefined, jobId: undefined, at: now, kind: "rollout-removed", data });
    return true;
  });
  if (isRemoved) await store.wake();
  return isRemoved;
}

/** The newest ends are walked by index; a text that only looks like the executor's name is sorted out after. */
async function versionAttempts(
  store: Store,
  { executor, since, limit }: { executor: string; since: Instant; limit: number },
): Promise<readonly VersionAttempt[]> {
  const name = JSON.stringify(executor).replace(/[\\%_]/g, "\\$&");
  const rows = await reader(store).all(
    `SELECT r."state", r."startedAt", r."finishedAt", r."admission" FROM "runs" AS r
     WHERE r."queue" IS NOT NULL AND r."finishedAt" >= ? AND r."state" IN ('succeeded','partiallySucceeded','failed','timedOut','unknown')
       AND r."admission" LIKE ? ESCAPE '\\' AND r."admission" LIKE '%"version":"%' ORDER BY r."finishedAt" DESC LIMIT ?`,
    [since, `%"executor":${name}%`, limit],
  );
  return rows.flatMap((row) => attemptOf(row, executor));
}

function attemptOf(row: Row, executor: string): VersionAttempt[] {
  const admission = JSON.parse(String(row.admission)) as Admission;
  if (admission.executor !== executor || admission.version === undefined) return [];
  const { startedAt, finishedAt } = row;
  return [
    {
      version: admission.version,
      hasFailed: !["succeeded", "partiallySucceeded"].includes(String(row.state)),
      durationMs: startedAt === null ? undefined : Number(finishedAt) - Number(startedAt),
    },
  ];
}
