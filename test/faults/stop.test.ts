// Stopping a node (L13): drains, ends what will not end, hurries when asked twice, and leaves what waits alone.

import { expect, test } from "vitest";
import { expectWhole, faultHome, query, rowsOf, untilTrue } from "./fault-home.ts";
import { isRun, startNode } from "./node-process.ts";

test("L13: SIGINT lets a live run end, claims nothing further, and exits with 0", {
  timeout: 20_000,
}, async () => {
  const home = await faultHome();
  await home.jobFiles([
    { id: "live", seconds: 1.5, repeat: 1 },
    { id: "often", seconds: 0 },
  ]);
  const node = await startNode({ home: home.path });
  await untilTrue("the long one runs", async () =>
    (await home.deeds()).some((deed) => deed.startsWith("live")),
  );

  node.signal("SIGINT");
  const exit = await node.exited;

  expect(exit).toEqual({ code: 0, signal: null });
  const { rows } = await expectWhole(home);
  expect(rows.filter(({ jobId }) => jobId === "live")).toMatchObject([{ state: "succeeded" }]);
  const [stopping] = await query(home, `SELECT "stoppingAt" FROM "nodes"`);
  const late = await query(
    home,
    `SELECT "id" FROM "runs" WHERE "startedAt" > ${Number(stopping?.stoppingAt)} + 50`,
  );
  expect(late, "started after the stop began").toEqual([]);
});

test("L13: past the grace a safe run is queued again, an external one alerts, and a waiting one is untouched", {
  timeout: 30_000,
}, async () => {
  const home = await faultHome();
  await home.script("fail.sh", "#!/bin/sh\nexit 3\n");
  await home.jobFiles([
    { id: "external", seconds: 60, repeat: 1, deliver: ["local"] },
    { id: "safe", seconds: 60, repeat: 1, effects: "idempotent", deliver: ["local"] },
    { id: "waiting", run: { script: "fail.sh", args: [] }, repeat: 1, retry: { max: 1, delay: "1h" } },
  ]);
  const node = await startNode({ home: home.path, args: ["--grace", "300ms"] });
  await untilTrue("both run and one waits", async () => {
    const rows = await rowsOf(home);
    return (await home.deeds()).length === 2 && rows.some(({ state }) => state === "waiting");
  });
  const waitingBefore = await query(home, `SELECT * FROM "runs" WHERE "state" = 'waiting'`);

  node.signal("SIGINT");
  expect(await node.exited).toEqual({ code: 0, signal: null });

  const { rows } = await expectWhole(home);
  expect(rows.filter(({ jobId }) => jobId === "external")).toMatchObject([
    { state: "cancelled", reason: "nodeStopped", attempt: 1 },
  ]);
  expect(rows.filter(({ jobId }) => jobId === "safe")).toMatchObject([
    { state: "cancelled", reason: "nodeStopped", attempt: 1 },
    { state: "queued", attempt: 2, trigger: "rerun" },
  ]);
  expect(await query(home, `SELECT * FROM "runs" WHERE "state" = 'waiting'`)).toEqual(waitingBefore);
  const told = await query(home, `SELECT "jobId", "kind" FROM "deliveries"`);
  expect(told).toEqual([{ jobId: "external", kind: "alert" }]);

  await home.script("work.sh", "#!/bin/sh\necho done\n");
  const next = await startNode({ home: home.path });
  const again = await next.when(isRun);
  expect(again.run).toMatchObject({ jobId: "safe", attempt: 2, state: "succeeded" });
  next.signal("SIGTERM");
  expect(await next.exited).toEqual({ code: 0, signal: null });
});

test("L13: a second Ctrl-C ends at once what does not listen, and the exit code is 0", {
  timeout: 20_000,
}, async () => {
  const home = await faultHome();
  await home.script(
    "deaf.sh",
    `#!/bin/sh\ntrap '' TERM INT\nprintf '%s %s %s\\n' "$NIGHTSHIFT_JOB_ID" "$NIGHTSHIFT_SLOT" "$NIGHTSHIFT_ATTEMPT" >> "$DEEDS"\nwhile :; do sleep 1; done\n`,
  );
  await home.jobFiles([{ id: "deaf", run: { script: "deaf.sh", args: [] }, repeat: 1 }]);
  const node = await startNode({ home: home.path, args: ["--grace", "1h"] });
  await untilTrue("it runs", async () => (await home.deeds()).length === 1);

  node.signal("SIGINT");
  await untilTrue("it drains", () => node.stderr().includes("Draining"));
  const asked = performance.now();
  node.signal("SIGINT");

  expect(await node.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - asked).toBeLessThan(4_000);
  const { rows } = await expectWhole(home);
  expect(rows).toMatchObject([{ state: "cancelled", reason: "nodeStopped" }]);
});
