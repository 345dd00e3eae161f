// What surfaces say of jobs beyond the plain case: several mistakes at once, held files, previews, audits, plans.

import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readAudit } from "../../src/app/audit.ts";
import type { Context } from "../../src/app/context.ts";
import { planSlots } from "../../src/app/downtime-plan.ts";
import { addJob, queueRun, showJob } from "../../src/app/jobs.ts";
import { startNode } from "../../src/app/node.ts";
import { previewSchedule } from "../../src/app/preview.ts";
import { waitForChange } from "../../src/app/wait-for-change.ts";
import { isFault, sayFault } from "../../src/kernel/errors.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { testContext, writeScript } from "../support/home.ts";

async function home(): Promise<Context> {
  const context = await testContext();
  await writeScript(context, "watch.sh", "#!/bin/sh\necho hi\n");
  return context;
}

const draft: JobDocument = { id: "watch", schedule: "every 5m", run: { script: "watch.sh" } };

test("law 8: `job add` says everything that is wrong at once, and that the id is taken", async () => {
  const context = await home();
  await addJob(context, draft);

  const refusal = await addJob(context, {
    ...draft,
    run: { script: "nowhere.sh" },
    deliver: ["telegram:17"],
  }).catch((error: unknown) => error);

  const said = isFault(refusal) ? sayFault(refusal).split("\n") : [];
  expect(said).toEqual([
    expect.stringContaining("telegram"),
    expect.stringContaining("nowhere.sh"),
    expect.stringContaining('There is a job "watch" already'),
  ]);
});

test("D2: a dropped file that never was a valid job is held, by name, with what is wrong in it", async () => {
  const context = await home();
  const file = join(context.home.paths.root, "jobs", "broken.yaml");
  await writeFile(file, "schedule: every 5m\nrun: {script: watch.sh}\noverlop: skip\n");
  await utimes(file, 1_000, 1_000);

  for (const name of ["broken", "jobs/broken.yaml"])
    await expect(showJob(context, name)).rejects.toMatchObject({
      code: "input.not-found",
      message: expect.stringMatching(/is held and was never a job: .*overlop.*overlap/),
      hint: expect.stringContaining("jobs/broken.yaml"),
    });
  await expect(showJob(context, "nobody")).rejects.toMatchObject({ message: 'There is no job "nobody".' });
});

test("T2: a preview from an instant counts from it, in words that count from a moment, too", () => {
  const from = Date.parse("2026-03-01T12:00:00Z");
  const preview = (text: string) => previewSchedule(text, { zone: "UTC", from, count: 1 }).next;

  expect(preview("30m")).toEqual(["2026-03-01T12:30:00Z"]);
  expect(preview("every 20m")).toEqual(["2026-03-01T12:20:00Z"]);
  expect(preview("0 14 * * *")).toEqual(["2026-03-01T14:00:00Z"]);
});

test("L9: an audit since an instant that is still to come is refused", async () => {
  const context = await home();
  const since = context.clock.now() + HOUR;

  await expect(readAudit(context, { since })).rejects.toMatchObject({
    code: "input.invalid",
    hint: expect.stringContaining("has passed"),
  });
});

test("T7: `plan` knows the run that is live now: slots that meet it are skipped", async () => {
  let end = () => {};
  const context = await testContext({
    executors: { long: () => new Promise<void>((resolve) => (end = resolve)) },
  });
  await addJob(context, { id: "long", schedule: "* * * * *", run: { task: { executor: "long" } } });
  await queueRun(context, "long");
  const node = await startNode({ context });
  onTestFinished(() => node.stop({ graceMs: 1_000 }));
  const isLive = async () => (await context.ledger.runs({ state: ["running"] })).length === 1;
  while (!(await isLive())) await waitForChange(context, { signal: AbortSignal.timeout(15_000) });

  const from = context.clock.now();
  const fates = async () => {
    const { slots } = await planSlots(context, { from, until: from + HOUR, down: [], jobId: "long" });
    return slots.map(({ fate }) => fate);
  };
  expect((await fates()).filter((fate) => fate === "overlap").length).toBeLessThan(2);
  const later = { ...context, ledger: { ...context.ledger, now: async () => from + 10 * MINUTE } };
  const { slots } = await planSlots(later, { from: from + 10 * MINUTE, until: from + HOUR, down: [] });
  expect(slots[0]).toMatchObject({ fate: "overlap" });
  end();
});
