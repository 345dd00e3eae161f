// Quarantine (L7): a job that kills its own node is tried twice more, then alone, then held back until a person says so.

import { expect, test } from "vitest";
import { faultHome, query, rowsOf, untilTrue } from "./fault-home.ts";
import { isRun, startNode } from "./node-process.ts";

/** The node is the parent of the command's session leader: this very process. */
const KILLER = `#!/bin/sh
printf '%s %s %s\\n' "$NIGHTSHIFT_JOB_ID" "$NIGHTSHIFT_SLOT" "$NIGHTSHIFT_ATTEMPT" >> "$DEEDS"
sleep 0.2
kill -9 "$PPID"
sleep 60
`;

interface CursorRow {
  strikes: number;
  isHalted: number;
}

test("L7: two strikes, then alone, then quarantined; `job resume` releases it and other jobs go on", {
  timeout: 60_000,
}, async () => {
  const home = await faultHome({ config: "timezone: UTC\n" });
  await home.script("killer.sh", KILLER);
  await home.jobFiles([
    { id: "killer", run: { script: "killer.sh", args: [] } },
    { id: "bystander", seconds: 0.1, effects: "idempotent" },
  ]);
  const cursor = async () =>
    (
      await query(home, `SELECT "strikes", "isHalted" FROM "cursors" WHERE "jobId" = 'killer'`)
    )[0] as unknown as CursorRow | undefined;

  for (let death = 1; death <= 3; death++) {
    const node = await startNode({ home: home.path });
    expect(await node.exited, `death ${death}`).toMatchObject({ signal: "SIGKILL" });
  }
  const [third] = (await rowsOf(home)).filter(
    ({ jobId, state }) => jobId === "killer" && state === "running",
  );
  const alone = await query(home, `SELECT "isSuspect" FROM "runs" WHERE "id" = '${third?.id}'`);
  expect(alone, "after the second strike it is a suspect").toEqual([{ isSuspect: 1 }]);
  const besides = await query(
    home,
    `SELECT "id" FROM "runs" WHERE "jobId" <> 'killer' AND "state" IN ('claimed','running','cancelling')`,
  );
  expect(besides, "and runs alone").toEqual([]);

  const survivor = await startNode({ home: home.path });
  await untilTrue("it is quarantined", async () => (await cursor())?.isHalted === 1);
  const from = survivor.events.length;
  await untilTrue("the bystander goes on", () =>
    survivor.events.slice(from).some((event) => isRun(event) && event.run.jobId === "bystander"),
  );
  const job = JSON.parse((await home.cli("job", "show", "killer")).stdout) as { state: string };
  expect(job.state).toBe("quarantined");
  const deeds = (await home.deeds()).filter((deed) => deed.startsWith("killer"));
  expect(deeds).toHaveLength(3);

  await home.script("killer.sh", "#!/bin/sh\necho cured\n");
  expect(await home.cli("job", "resume", "killer")).toMatchObject({ code: 0 });
  const cured = await survivor.when((event) => isRun(event) && event.run.jobId === "killer");
  expect(cured).toMatchObject({ run: { state: "succeeded" } });
  await untilTrue("a suspect that survives is none any more", async () => (await cursor())?.strikes === 0);
  survivor.signal("SIGTERM");
  expect(await survivor.exited).toMatchObject({ code: 0 });
});
