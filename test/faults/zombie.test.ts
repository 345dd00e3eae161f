// SIGSTOP past the lease: another node takes over where the rules allow, and what wakes up changes nothing (L4–L6, law 3).

import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectWhole, type FaultHome, faultHome, marked, query, rowsOf, untilTrue } from "./fault-home.ts";
import { isRun, type NodeProcess, type StartOptions, startNode } from "./node-process.ts";

const FAST = { NIGHTSHIFT_LEASE: "800ms", NIGHTSHIFT_BEAT: "200ms" };

/** The first attempt never ends by itself; a later one is done at once. */
const ZOMBIE = `#!/bin/sh
printf '%s %s %s\\n' "$NIGHTSHIFT_JOB_ID" "$NIGHTSHIFT_SLOT" "$NIGHTSHIFT_ATTEMPT" >> "$DEEDS"
[ "$NIGHTSHIFT_ATTEMPT" != 1 ] || sleep 300
echo "$NIGHTSHIFT_IDEMPOTENCY_KEY"
`;

/** To a node in a pid namespace of its own the other one is another host: only the lease tells it anything (L4). */
const OTHER_HOST = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
const canUnshare = spawnSync(OTHER_HOST[0]!, [...OTHER_HOST.slice(1), "true"]).status === 0;

interface TakenOver {
  home: FaultHome;
  zombie: NodeProcess;
  heir: NodeProcess;
  /** Every run row as it stood before the zombie woke up. */
  before: Record<string, unknown>[];
}

/** One external and one safe run on a node that is stopped; another node has taken both over. */
async function takeOver(options: Pick<StartOptions, "wrap">): Promise<TakenOver> {
  const home = await faultHome({ env: FAST });
  await home.script("zombie.sh", ZOMBIE);
  const run = { script: "zombie.sh", args: [] };
  await home.jobFiles([
    { id: "external", run, repeat: 1, deliver: ["local"] },
    { id: "safe", run, repeat: 1, effects: "idempotent" },
  ]);
  const zombie = await startNode({ home: home.path, env: home.env });
  await untilTrue("both scripts run", async () => (await home.deeds()).length === 2);

  zombie.signal("SIGSTOP");
  const heir = await startNode({ home: home.path, env: home.env, ...options });
  const again = await heir.when(isRun);
  await untilTrue("the other is declared unknown", async () =>
    (await rowsOf(home)).some(({ jobId, state }) => jobId === "external" && state === "unknown"),
  );

  expect(again.run).toMatchObject({ jobId: "safe", attempt: 2, state: "succeeded" });
  const alerts = await query(home, `SELECT "kind" FROM "deliveries" WHERE "jobId" = 'external'`);
  expect(alerts).toEqual([{ kind: "alert" }]);
  const keys = await query(
    home,
    `SELECT DISTINCT "idempotencyKey" FROM "runs" WHERE "jobId" = 'safe' AND "startedAt" IS NOT NULL`,
  );
  expect(keys, "a further attempt keeps its key").toHaveLength(1);
  return { home, zombie, heir, before: await query(home, `SELECT * FROM "runs" ORDER BY "id"`) };
}

async function expectUntouched({ home, zombie, heir, before }: TakenOver): Promise<void> {
  zombie.signal("SIGTERM");
  expect(await zombie.exited).toMatchObject({ code: 0 });
  heir.signal("SIGKILL");
  await heir.exited;
  expect(await query(home, `SELECT * FROM "runs" ORDER BY "id"`)).toEqual(before);
  expect(zombie.events.filter(isRun), "it told of no run's end").toEqual([]);
  await expectWhole(home);
}

test("L5, L6: the outcome of a node that was stopped past its lease changes nothing; its processes were ended by the heir", {
  timeout: 40_000,
}, async () => {
  const taken = await takeOver({});
  expect(marked(taken.home.deedsFile)).toEqual([]);

  taken.zombie.signal("SIGCONT");

  await expectUntouched(taken);
});

test.skipIf(!canUnshare)(
  "L4, L5: a zombie on another host is refused its renewals, aborts what still runs there, and changes no row [needs unshare]",
  { timeout: 40_000 },
  async () => {
    const taken = await takeOver({ wrap: OTHER_HOST });
    const { home, zombie } = taken;
    expect(marked(home.deedsFile).length, "out of the heir's reach").toBeGreaterThan(0);

    zombie.signal("SIGCONT");
    await untilTrue("its renewals are refused", async () => {
      const log = await readFile(join(home.path, "logs", "nightshift.log"), "utf8");
      return log.split("\n").filter((line) => line.includes('"claim-lost"')).length === 2;
    });
    await untilTrue("it has ended its processes", () => marked(home.deedsFile).length === 0);

    await expectUntouched(taken);
  },
);
