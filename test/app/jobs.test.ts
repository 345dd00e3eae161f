import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { readJobText, replaceJobText, updateJob } from "../../src/app/job-editing.ts";
import { applyJobs, exportJobs, importHermes } from "../../src/app/job-transfer.ts";
import { addJob, jobNext, listJobs, pauseJob, removeJob, resumeJob, showJob } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { formatInstant, HOUR, parseInstant } from "../../src/kernel/time.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { testContext, writeScript } from "../support/home.ts";

async function home(): Promise<Context> {
  const context = await testContext();
  await writeScript(context, "watch.sh", "#!/bin/sh\necho hi\n");
  return context;
}

const draft: JobDocument = { id: "watch", schedule: "every 5m", run: { script: "watch.sh" } };

const textOf = (context: Context, source = "jobs/watch.yaml") =>
  readFile(join(context.home.paths.root, source), "utf8");

describe("creating a job", () => {
  test("law 10: echoes the meaning, the next three fires, the target, and that no node is up (hermes#87033)", async () => {
    const context = await home();

    const echo = await addJob(context, {
      ...draft,
      schedule: "weekdays at 18:00",
      timezone: "Europe/Berlin",
    });

    expect(echo).toMatchObject({ id: "watch", state: "scheduled", deliverTo: ["local"] });
    expect(echo.understood).toContain("18:00");
    expect(echo.nextSlots).toHaveLength(3);
    expect(echo.warnings).toEqual(["no node is up to run it: start one with `nightshift up`."]);
  });

  test("T2: a relative text becomes an absolute instant and a zone in the file", async () => {
    const context = await home();

    const echo = await addJob(context, { ...draft, schedule: "in 2h" });

    const at = parseInstant((await textOf(context)).match(/at: (\S+Z)/)?.[1] ?? "");
    expect(at).toBe(parseInstant(echo.nextSlots[0] ?? ""));
    expect(Math.abs((at ?? 0) - Date.now() - 2 * HOUR)).toBeLessThan(5_000);
    expect(await textOf(context)).toContain("timezone: UTC");
  });

  test.each<[string, Partial<JobDocument>, string]>([
    ["a past instant", { schedule: "2020-01-01T00:00:00Z" }, "schedule.past"],
    ["an impossible cron", { schedule: "0 0 31 2 *" }, "schedule.never-fires"],
    ["an unknown zone", { timezone: "Europe/Berln" }, "schedule.zone"],
    ["a script outside scripts/", { run: { script: "../watch.sh" } }, "script.path"],
    ["a script that is not there", { run: { script: "nope.sh" } }, "script.missing"],
    ["an unknown target", { deliver: ["telegam:1"] }, "target.unknown"],
    ["origin without an origin", { deliver: ["origin"] }, "target.no-origin"],
    ["a platform without an adapter", { deliver: ["telegram:1"] }, "target.refused"],
    ["an agent where no model is configured", { run: { agent: { prompt: "hi" } } }, "model.unknown"],
    ["a workflow that is not there", { run: { workflow: { file: "a.yaml" } } }, "input.not-found"],
    ["a jitter over half the gap", { schedule: "every 5m", jitter: "4m" }, "job.invalid"],
  ])("law 8: %s is refused before anything is written", async (_what, patch, code) => {
    const context = await home();

    await expect(addJob(context, { ...draft, ...patch })).rejects.toMatchObject({ code });

    expect(await listJobs(context)).toEqual([]);
    await expect(textOf(context)).rejects.toThrow("ENOENT");
  });

  test("a second job of the same id is refused and the first one's bytes stay", async () => {
    const context = await home();
    await addJob(context, draft);
    const before = await textOf(context);

    await expect(addJob(context, { ...draft, schedule: "every 1h" })).rejects.toMatchObject({
      code: "input.conflict",
    });

    expect(await textOf(context)).toBe(before);
  });

  test("is paused from birth in one step, no slot can fire in between", async () => {
    const context = await home();

    await addJob(context, draft, { paused: "not yet" });

    expect(await showJob(context, "watch")).toMatchObject({
      state: "paused",
      stateReason: "not yet (by test)",
      next: null,
    });
    expect((await context.ledger.job("watch"))?.cursor.suspensions).toHaveLength(1);
  });
});

describe("changing a job", () => {
  test("D3: update patches only the named keys; comments and key order stay", async () => {
    const context = await home();
    await addJob(context, draft);
    const text = `# my watchdog\n${await textOf(context)}# the end\n`;
    await replaceJobText(context, await readJobText(context, "watch").then(({ view }) => view), {
      text,
      digest: (await readJobText(context, "watch")).digest,
    });

    await updateJob(context, "watch", { overlap: "queue" });

    expect(await textOf(context)).toBe(text.replace("# the end\n", "overlap: queue\n# the end\n"));
    expect(await showJob(context, "watch")).toMatchObject({ overlap: "queue", version: 3 });
  });

  test("D1: a change that leaves the schedule alone moves no cursor", async () => {
    const context = await home();
    await addJob(context, draft);
    const before = await jobNext(context, "watch", 2);

    await updateJob(context, "watch", { description: "still the same times" });

    expect(await jobNext(context, "watch", 2)).toEqual(before);
  });

  test("D3: an update under an old version changes nothing", async () => {
    const context = await home();
    await addJob(context, draft);
    await updateJob(context, "watch", { description: "two" });

    const late = updateJob(context, "watch", { description: "three" }, { expectVersion: 1 });

    await expect(late).rejects.toMatchObject({ code: "input.conflict" });
    expect(await showJob(context, "watch")).toMatchObject({ description: "two", version: 2 });
  });

  test("D3: a text edited over somebody else's change is refused, both texts survive", async () => {
    const context = await home();
    await addJob(context, draft);
    const { view, text, digest } = await readJobText(context, "watch");
    await updateJob(context, "watch", { description: "theirs" });

    const mine = replaceJobText(context, view, { text: `${text}description: mine\n`, digest });

    await expect(mine).rejects.toMatchObject({ code: "input.conflict" });
    expect(await textOf(context)).toContain("description: theirs");
  });

  test("an invalid edit is refused with line and column, and the file stays as it was", async () => {
    const context = await home();
    await addJob(context, draft);
    const { view, text, digest } = await readJobText(context, "watch");

    const broken = replaceJobText(context, view, { text: `${text}catchUpp: all\n`, digest });

    await expect(broken).rejects.toMatchObject({
      code: "job.invalid",
      message: expect.stringContaining('did you mean "catchUp"'),
    });
    expect(await textOf(context)).toBe(text);
  });

  test("an id never changes", async () => {
    const context = await home();
    await addJob(context, draft);
    const { view, text, digest } = await readJobText(context, "watch");

    const renamed = replaceJobText(context, view, { text: text.replace("id: watch", "id: other"), digest });

    await expect(renamed).rejects.toMatchObject({ code: "input.conflict" });
  });

  test("D4: pause and resume; while paused no slot is due", async () => {
    const context = await home();
    await addJob(context, draft);

    expect(await pauseJob(context, "watch", { reason: "holiday" })).toMatchObject({
      state: "paused",
      next: null,
    });
    expect(await resumeJob(context, "watch")).toMatchObject({ state: "scheduled", next: expect.any(String) });
  });

  test("D3: remove keeps the bytes in the trash, and the same id may come back", async () => {
    const context = await home();
    await addJob(context, draft);
    const before = await textOf(context);

    const removed = await removeJob(context, "watch", { isCancelling: false });

    expect(await textOf(context, removed.keptAt ?? "")).toBe(before);
    expect(await listJobs(context)).toEqual([]);
    expect(await addJob(context, draft)).toMatchObject({ version: 2, state: "scheduled" });
  });

  test("a name that two jobs share is refused with both ids", async () => {
    const context = await home();
    await addJob(context, { ...draft, name: "Watch it" });
    await addJob(context, { ...draft, id: "other", name: "watch IT" });

    await expect(showJob(context, "Watch It")).rejects.toMatchObject({
      code: "input.ambiguous",
      details: { candidates: ["other", "watch"] },
    });
  });
});

describe("moving jobs in and out", () => {
  test("an export applied elsewhere is the same job, comments included", async () => {
    const [from, to] = [await home(), await home()];
    await addJob(from, draft);
    await writeFile(join(from.home.paths.root, "jobs/watch.yaml"), `# mine\n${await textOf(from)}`);
    const [exported] = await exportJobs(from, ["watch"]);

    const results = await applyJobs(to, { text: exported?.text ?? "", file: "-", isDryRun: false });

    expect(results).toEqual([
      { id: "watch", action: "created", warnings: [expect.stringContaining("no node is up")], error: null },
    ]);
    expect(await textOf(to)).toBe(exported?.text);
  });

  test("a stream applies each document by itself; the refused one stops no other", async () => {
    const context = await home();
    const text =
      "id: a\nschedule: every 5m\nrun: watch.sh\n---\nid: b\nschedle: every 5m\nrun: watch.sh\n---\nid: c\nschedule: '@daily'\nrun: watch.sh\n";

    const results = await applyJobs(context, { text, file: "jobs.yaml", isDryRun: false });

    expect(results.map(({ id, action }) => `${id} ${action}`)).toEqual([
      "a created",
      "jobs.yaml#2 refused",
      "c created",
    ]);
    expect(results[1]?.error).toContain('did you mean "schedule"');
    const again = await applyJobs(context, { text, file: "jobs.yaml", isDryRun: false });
    expect(again.map(({ action }) => action)).toContain("refused");
  });

  test("import-hermes takes over scripts and agents, and never fires a past one-shot", async () => {
    const context = await home();
    const text = JSON.stringify({
      jobs: [
        {
          id: "aaaaaaaaaaaa",
          name: "Disk",
          script: "watch.sh",
          no_agent: true,
          schedule: { kind: "interval", minutes: 5, display: "every 5m" },
          deliver: "local",
          enabled: true,
          state: "scheduled",
        },
        {
          id: "bbbbbbbbbbbb",
          name: "Digest",
          prompt: "Summarise",
          schedule: { kind: "cron", expr: "0 9 * * *" },
          deliver: "telegram:-100:17",
          enabled: true,
          state: "scheduled",
        },
        {
          id: "cccccccccccc",
          name: "Past",
          script: "watch.sh",
          no_agent: true,
          schedule: { kind: "once", run_at: "2020-01-01T00:00:00+00:00" },
          repeat: { times: 1, completed: 0 },
          enabled: true,
          state: "scheduled",
        },
      ],
      updated_at: formatInstant(0),
    });

    const { jobs } = await importHermes(context, { text, isDryRun: false });

    expect(jobs.map(({ action }) => action)).toEqual(["created", "created", "created"]);
    const states = (await listJobs(context)).map(({ name, state, next }) => [name, state, next !== null]);
    expect(states).toContainEqual(["Disk", "scheduled", true]);
    expect(states).toContainEqual(["Digest", "scheduled", true]);
    expect(jobs[1]?.warnings.join("\n")).toContain("No model is configured");
    expect(states).toContainEqual(["Past", "completed", false]);
  });
});

describe("repeat and completion", () => {
  test("T9: a job imported as completed has no slots, released or renamed; with a new end it goes on", async () => {
    const context = await home();
    const schedule = { kind: "cron", expr: "* * * * *" };
    const done = {
      name: "Done",
      script: "watch.sh",
      no_agent: true,
      schedule,
      repeat: { times: 2, completed: 2 },
    };
    await importHermes(context, {
      text: JSON.stringify({ jobs: [{ id: "dddddddddddd", ...done }] }),
      isDryRun: false,
    });
    const standing = async () => {
      const [job] = await listJobs(context);
      return [job?.state, job?.next === null];
    };
    expect(await standing()).toEqual(["completed", true]);
    const [{ id } = { id: "" }] = await listJobs(context);

    await pauseJob(context, id, {});
    await resumeJob(context, id);
    expect(await standing()).toEqual(["completed", true]);
    await updateJob(context, id, { name: "Still done" });
    expect(await standing()).toEqual(["completed", true]);
    await updateJob(context, id, { repeat: 3 });
    expect(await standing()).toEqual(["scheduled", false]);
  });

  test("T9: raising repeat in the file reopens a completed job, and its count goes on", async () => {
    const context = await home();
    await addJob(context, { ...draft, schedule: "every 1s", repeat: 1 });
    const signal = AbortSignal.timeout(15_000);
    while ((await showJob(context, "watch")).state !== "completed") {
      await tickOnce({ context });
      signal.throwIfAborted();
      await context.clock.sleep(200, signal);
    }

    const echo = await updateJob(context, "watch", { repeat: 2 });

    expect(echo).toMatchObject({ state: "scheduled", next: expect.any(String) });
    expect((await context.ledger.job("watch"))?.cursor.startedSlots).toBe(1);
  });

  test("T3: re-adding a completed once-job under its old id does not run it again", async () => {
    const context = await home();
    const at = formatInstant(Math.ceil((Date.now() + 1_000) / 1_000) * 1_000);
    await addJob(context, { ...draft, schedule: at });
    const signal = AbortSignal.timeout(15_000);
    while ((await showJob(context, "watch")).state !== "completed") {
      await tickOnce({ context });
      signal.throwIfAborted();
      await context.clock.sleep(200, signal);
    }
    await removeJob(context, "watch", { isCancelling: false });

    await expect(addJob(context, { ...draft, schedule: at })).rejects.toMatchObject({
      code: "schedule.past",
    });
  });
});
