// No orphans (L10): what a killed node leaves behind is ended by the next one, and what was only held ends by itself.

import { expect, test } from "vitest";
import { openSqlite } from "../../src/store/sql/sqlite-connection.ts";
import { expectWhole, type FaultHome, faultHome, marked, query, rowsOf, untilTrue } from "./fault-home.ts";
import { isRun, startNode } from "./node-process.ts";

/** Leaves the group and the session, and keeps the mark. */
const FAMILY = `#!/bin/sh
printf '%s %s %s\\n' "$NIGHTSHIFT_JOB_ID" "$NIGHTSHIFT_SLOT" "$NIGHTSHIFT_ATTEMPT" >> "$DEEDS"
setsid sh -c 'trap "" TERM; while :; do sleep 300; done' > /dev/null 2>&1 &
sleep 301 &
sleep 302
`;

test("L10: after kill -9 the next node ends the process group and a setsid grandchild, and says so in the run's log", {
  timeout: 30_000,
}, async () => {
  const home = await faultHome();
  await home.script("family.sh", FAMILY);
  await home.jobFiles([{ id: "family", run: { script: "family.sh", args: [] }, repeat: 1 }]);
  const first = await startNode({ home: home.path });
  // The script's shell, two sleeps, and the shell in a session of its own with its sleep.
  await untilTrue("the whole family lives", () => marked(home.deedsFile).length >= 5);

  first.signal("SIGKILL");
  await first.exited;
  const left = marked(home.deedsFile);
  const second = await startNode({ home: home.path });
  await untilTrue("nobody is left", () => marked(home.deedsFile).length === 0);
  await untilTrue("the run is unknown", async () => (await rowsOf(home))[0]?.state === "unknown");
  second.signal("SIGTERM");
  await second.exited;

  const { rows } = await expectWhole(home);
  const log = await home.cli("run", "logs", rows[0]?.id ?? "");
  const said = log.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string; data: { ended: number[] } })
    .find(({ kind }) => kind === "processes-ended");
  expect(left.length).toBeGreaterThanOrEqual(5);
  expect(said?.data.ended.sort()).toEqual(left.sort());
  expect(said?.data).toMatchObject({ survivors: [] });
});

/** Waits until a run is claimed and not yet running, and keeps the database locked from then on. */
async function lockBetweenClaimAndStart(home: FaultHome): Promise<{ release(): Promise<void> }> {
  const connection = await openSqlite(home.store.slice("sqlite:".length));
  for (;;) {
    try {
      await connection.exec("BEGIN IMMEDIATE");
    } catch {
      continue;
    }
    if (await connection.get(`SELECT "id" FROM "runs" WHERE "state" = 'claimed'`)) break;
    await connection.exec("COMMIT");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return {
    async release() {
      await connection.exec("COMMIT");
      await connection.close();
    },
  };
}

test("L3, L10: a kill -9 between spawn and commit leaves no process, and the slot is done once by the next node", {
  timeout: 30_000,
}, async () => {
  const home = await faultHome();
  await home.jobFiles([{ id: "held", seconds: 0, overlap: "allow" }]);
  const first = await startNode({ home: home.path });
  const lock = await lockBetweenClaimAndStart(home);
  await untilTrue("the shim is held", () => marked(home.deedsFile).length > 0);
  const [claimed] = (await query(home, `SELECT "slot" FROM "runs" WHERE "state" = 'claimed'`)).map(
    ({ slot }) => new Date(Number(slot)).toISOString().replace(".000Z", "Z"),
  );

  first.signal("SIGKILL");
  await first.exited;
  await untilTrue("the shim is gone", () => marked(home.deedsFile).length === 0);
  expect(await home.deeds()).not.toContain(`held ${claimed} 1`);
  await lock.release();

  const second = await startNode({ home: home.path });
  await second.when((event) => isRun(event) && event.run.slot === claimed);
  second.signal("SIGTERM");
  await second.exited;
  await expectWhole(home);
  expect((await home.deeds()).filter((deed) => deed === `held ${claimed} 1`)).toHaveLength(1);
});
