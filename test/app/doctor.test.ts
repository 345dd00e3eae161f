// `doctor` and `check-env`: each finding is made for real in a home, and goes when its cause goes.

import { chmod } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { diagnose } from "../../src/app/doctor.ts";
import { addJob } from "../../src/app/jobs.ts";
import type { NodeRecord } from "../../src/records/node.ts";
import { manualClock } from "../support/clock.ts";
import { testContext, writeScript } from "../support/home.ts";

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
