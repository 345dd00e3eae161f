// Incidents on a real home: jobs that fail, a digest of what was held back, a pause, and what people see of it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { diagnose } from "../../src/app/doctor.ts";
import { acknowledgeIncident, listIncidents, showIncident, tellHeldNews } from "../../src/app/incidents.ts";
import { addJob, queueRun, resumeJob, showJob } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import { manualClock } from "../support/clock.ts";
import { testContext } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

/** A home whose jobs `a` to `e` fail while `broken` says so. */
async function homeWith(config: string) {
  const path = join(await tempFolder(), "home");
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "config.yaml"), config);
  const clock = manualClock(Date.UTC(2026, 10, 29));
  const broken = new Set<string>();
  const fragile = ({ params }: { params: Record<string, unknown> }) => {
    if (broken.has(String(params.of))) throw new Error("no route to host");
    return "";
  };
  const executors = { fragile };
  const context = await testContext({ path, clock, executors });
  const add = (id: string, more = {}) =>
    addJob(context, { id, run: { task: { executor: "fragile", params: { of: id } } }, ...more });
  const run = async (...ids: string[]) => {
    for (const id of ids) await queueRun(context, id);
    await tickOnce({ context });
  };
  return { context, clock, executors, broken, add, run };
}

async function messages(context: Context): Promise<string[]> {
  const rows = await context.ledger.deliveries({ limit: 100 });
  return rows.toReversed().map(({ kind, body }) => `${kind}: ${body.split("\n")[0]}`);
}

describe("incidents", () => {
  test("flood: beyond the hour's number failures come as one digest, as they stand when it is made", async () => {
    const { context, clock, broken, add, run } = await homeWith("deliver: {alerts: {perHour: 2}}\n");
    for (const id of ["a", "b", "c", "d", "e"]) {
      await add(id);
      broken.add(id);
    }

    // Runs made in one millisecond end in any order; which two are told of must not hang on it.
    await run("a", "b");
    await run("c", "d", "e");
    broken.delete("d");
    await run("d");
    expect(await messages(context)).toHaveLength(2);
    expect(await tellHeldNews(context)).toBe(0);
    await clock.advance(HOUR);
    await run();

    // `d` works again and nobody had heard of it: of three that were held two are told of.
    expect(await messages(context)).toEqual([
      expect.stringMatching(/^alert: [ab] failed: no route to host$/),
      expect.stringMatching(/^alert: [ab] failed: no route to host$/),
      "alert: 2 more failures:",
    ]);
    expect(
      (await listIncidents(context, {})).map(({ state, told, tellAt }) => [state, told, tellAt]),
    ).toEqual(Array.from({ length: 4 }, () => ["open", "failing", null]));
  });

  test("D4: a job that says so is paused after its third failure in a row; resumed it gets as many more", async () => {
    const { context, broken, add, run } = await homeWith("");
    await add("a", { autoPause: 3 });
    broken.add("a");

    for (let n = 0; n < 3; n++) await run("a");

    expect(await showJob(context, "a")).toMatchObject({
      state: "paused",
      stateReason: "3 failures in a row, the last: failed: no route to host (by autoPause)",
    });
    expect(await messages(context)).toHaveLength(2);
    await resumeJob(context, "a");
    for (let n = 0; n < 2; n++) await run("a");
    expect((await showJob(context, "a")).state).toBe("scheduled");
    await run("a");
    expect((await showJob(context, "a")).state).toBe("paused");
  });

  test("one that a person knows leaves doctor, alerts no more, and is closed by the job's recovery", async () => {
    const { context, clock, broken, add, run } = await homeWith("");
    await add("a");
    broken.add("a");
    await run("a");
    const [incident] = await listIncidents(context, {});
    const findings = async () => (await diagnose(context)).findings.map(({ code }) => code);
    expect(await findings()).toContain("incidentOpen");

    const known = await acknowledgeIncident(context, incident?.id.slice(0, 6) ?? "", {
      note: "ordered a disk",
    });

    expect(known).toMatchObject({ state: "acknowledged", acknowledgedBy: "test", note: "ordered a disk" });
    expect(await findings()).not.toContain("incidentOpen");
    await expect(acknowledgeIncident(context, known.id)).rejects.toMatchObject({ code: "input.conflict" });
    await expect(showIncident(context, "nothing")).rejects.toMatchObject({ code: "input.not-found" });
    await clock.advance(MINUTE);
    await run("a");
    broken.delete("a");
    await run("a");
    expect(await messages(context)).toEqual([
      "alert: a failed: no route to host",
      "recovery: a works again after 2 failures in a row.",
    ]);
    expect(await showIncident(context, known.id)).toMatchObject({
      state: "resolved",
      resolvedBy: "recovery",
    });
    expect(await listIncidents(context, {})).toEqual([]);
  });

  test("they outlive a restart: another process finds the incident and does not alert again", async () => {
    const first = await homeWith("");
    await first.add("a");
    first.broken.add("a");
    await first.run("a");
    const path = first.context.home.paths.root;
    const again = await testContext({ path, clock: first.clock, executors: first.executors });

    await queueRun(again, "a");
    await tickOnce({ context: again });

    expect(await messages(again)).toHaveLength(1);
    expect(await listIncidents(again, {})).toMatchObject([{ failures: 2, openings: 1 }]);
  });
});
