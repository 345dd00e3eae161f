// `doctor` and `check-env`: each finding is made for real in a home, and goes when its cause goes.

import { chmod } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { checkEnvironment, diagnose } from "../../src/app/doctor.ts";
import { changeJob } from "../../src/app/job-changes.ts";
import { addJob } from "../../src/app/jobs.ts";
import { startNode } from "../../src/app/node.ts";
import type { NodeRecord } from "../../src/records/node.ts";
import { manualClock } from "../support/clock.ts";
import { testContext, writeScript } from "../support/home.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";

describe("doctor finds", () => {
  test("a node whose clock differs from the ledger's, and one whose last pass is old, each with what to do", async () => {
    const context = await testContext();
    const now = await context.ledger.now();
    const node: NodeRecord = {
      id: "01m8m4qrk96z48sa3xj8tr6jrq",
      name: "host-b:7",
      hostId: "another-host",
      bootId: "boot",
      pid: 7,
      startTime: "1",
      version: "0.1.0",
      startedAt: now - 600_000,
      lastSeenAt: now,
      lastPassAt: now - 200_000,
      clockOffsetMs: -7_000,
      stoppingAt: undefined,
      stoppedAt: undefined,
      maxParallelRuns: 8,
      liveRuns: 0,
      url: undefined,
      lastError: undefined,
    };
    await context.ledger.registerNode(node);
    await context.ledger.updateNode(node.id, { lastPassAt: now - 200_000, clockOffsetMs: -7_000 });

    const { findings } = await diagnose(context);

    expect(findings.map(({ code }) => code)).toEqual(["nodeStuck", "clockSkew"]);
    expect(findings[1]?.what).toBe("The clock of node host-b:7 is 7s behind the ledger's.");
    expect(findings.every(({ todo }) => todo.length > 0)).toBe(true);
  });

  test("a job whose slot nobody decided about, and not before", async () => {
    const clock = manualClock(Date.UTC(2026, 10, 29));
    const context = await testContext({ clock });
    await writeScript(context, "a.sh", "#!/bin/sh\n");
    await addJob(context, { id: "a", schedule: "every 5m", run: { script: "a.sh" } });
    expect((await diagnose(context)).findings.map(({ code }) => code)).not.toContain("slotOverdue");

    await clock.advance(8 * 60_000);

    const overdue = (await diagnose(context)).findings.find(({ code }) => code === "slotOverdue");
    expect(overdue).toMatchObject({
      what: expect.stringContaining('Job "a" has been due since'),
      todo: expect.stringContaining("nightshift up"),
    });
  });

  test("a home that others can read", async () => {
    const first = await testContext();
    await chmod(first.home.paths.root, 0o755);
    const context = await testContext({ path: first.home.paths.root });

    expect((await diagnose(context)).findings).toContainEqual({
      code: "homePermissions",
      what: expect.stringContaining("open to other users"),
      todo: `chmod 700 ${first.home.paths.root}`,
    });
  });
});

describe("doctor finds what went wrong", () => {
  test("a node whose passes fail, by their error, until one succeeds", async () => {
    const context = await testContext();
    let isBroken = true;
    const failing: Context = {
      ...context,
      ledger: {
        ...context.ledger,
        pass: (request) =>
          isBroken ? Promise.reject(new Error("no such column")) : context.ledger.pass(request),
      },
    };
    const node = await startNode({ context: failing });
    onTestFinished(() => node.stop({ graceMs: 0 }));
    const codes = async () => (await diagnose(context)).findings.map(({ code }) => code);
    await until(async () => (await codes()).includes("nodeFailing"));

    isBroken = false;

    await until(async () => (await codes()).length === 0);
  });

  test("a node that ended without a farewell, when no other is up", async () => {
    const context = await testContext();
    const now = await context.ledger.now();
    await context.ledger.registerNode({
      ...DEAD_NODE,
      hostId: context.host.hostId,
      startedAt: now,
      lastSeenAt: now,
    });

    const { findings } = await diagnose(context);

    expect(findings.map(({ code }) => code)).toEqual(["noNode", "nodeLost"]);
  });

  test("a quarantined job, with the way out of it", async () => {
    const context = await testContext();
    await writeScript(context, "a.sh", "#!/bin/sh\n");
    await addJob(context, { id: "a", schedule: "every 5m", run: { script: "a.sh" } });
    await changeJob(context, "a", {
      kind: "suspend",
      suspension: "quarantined",
      by: "test",
      reason: "killed its node",
    });

    const found = (await diagnose(context)).findings.find(({ code }) => code === "jobQuarantined");

    expect(found).toMatchObject({ todo: expect.stringContaining("nightshift job resume a") });
  });

  test("an interpreter that is not there", async () => {
    const context = await testContext({ env: { PATH: "/nowhere", HOME: "/nowhere", TZ: "UTC" } });

    const check = { isAskingModels: false, signal: new AbortController().signal };
    const { findings } = await checkEnvironment(context, check);

    expect(findings.map(({ code }) => code)).toEqual(["interpreterMissing", "interpreterMissing"]);
  });

  test.skipIf(!hasPostgres)("a clock that differs from the database's", async () => {
    const clock = manualClock(Date.now() + 60_000);
    const context = await testContext({ storeUrl: await postgresDatabase(), clock });

    const skew = (await diagnose(context)).findings.find(({ code }) => code === "clockSkew");

    expect(skew?.what).toMatch(
      /^The clock of this machine is (1m|59s|1m\d+s|5\d+s)\S* ahead of the ledger's\.$/,
    );
  });
});

const DEAD_NODE: NodeRecord = {
  id: "01m8m4qrk96z48sa3xj8tr6jrr",
  name: "host-a:1",
  hostId: "",
  bootId: "boot",
  pid: 2 ** 22 + 1,
  startTime: "1",
  version: "0.1.0",
  startedAt: 0,
  lastSeenAt: 0,
  lastPassAt: undefined,
  clockOffsetMs: 0,
  stoppingAt: undefined,
  stoppedAt: undefined,
  maxParallelRuns: 8,
  liveRuns: 0,
  url: undefined,
  lastError: undefined,
};

/** Looks again until it is so; the test's own time limit ends it. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}
