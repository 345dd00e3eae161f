import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { renderUnit } from "../../src/orchestrate/graph/render-unit.ts";
import { type Answer, bad, ok, planOf, runOf, TestRun } from "./runs.ts";

const NO_RETRY = "defaults: {retry: 0}\n";
const seed = () => readFile(join(import.meta.dirname, "fixtures/inspection_workflow.yaml"), "utf8");
const failing =
  (...units: string[]): Answer =>
  (unit) =>
    units.includes(unit) ? bad() : ok({ eject_flag: true });

describe("W2: the seed's inspection line", () => {
  test("runs from the trigger to the ejection; the alert is not activated", async () => {
    const run = new TestRun(planOf(await seed()), failing()).toEnd();

    expect(run.progress.ended?.state).toBe("succeeded");
    expect(run.started()).toEqual([
      "t1_plc_trigger",
      "t2_image_capture",
      "t3_cv_inspect",
      "t4_audio_analyze",
      "t6_decision",
      "t7_eject_command",
    ]);
    expect(run.standings().t5_alert).toBe("skipped: notActivated");
  });

  test("with the sound analysis failed the decision is still made, from a null result", async () => {
    const run = new TestRun(planOf(await seed()), failing("t4_audio_analyze")).toEnd();
    const rendered = renderUnit(run.plan, run.progress, { unit: "t6_decision", now: run.now });

    expect(run.progress.ended).toMatchObject({
      state: "partiallySucceeded",
      reason: "the failure of task t4_audio_analyze was handled",
    });
    expect(run.progress.units.get("t4_audio_analyze")?.attempt).toBe(4);
    expect(rendered).toMatchObject({
      ok: true,
      value: { params: { cv_result: { eject_flag: true }, audio_result: null } },
    });
  });

  test("a failure alerts once, with its error as text, and what follows is not activated", async () => {
    const run = new TestRun(planOf(await seed()), failing("t3_cv_inspect")).toEnd();
    const rendered = renderUnit(run.plan, run.progress, { unit: "t5_alert", now: run.now });

    expect(run.progress.ended?.state).toBe("partiallySucceeded");
    expect(run.started().filter((unit) => unit === "t5_alert")).toEqual(["t5_alert"]);
    expect(rendered).toMatchObject({
      value: { params: { body: "t3_cv_inspect: broken (exit) after 4 attempts" } },
    });
    expect(run.standings()).toMatchObject({
      t4_audio_analyze: "skipped: notActivated",
      t7_eject_command: "skipped: notActivated",
    });
  });

  test("{uuid} is one value for the whole run, and reaches the shell as a variable", async () => {
    const run = new TestRun(planOf(await seed()), failing()).toEnd();
    const capture = renderUnit(run.plan, run.progress, { unit: "t2_image_capture", now: 0 });
    const inspect = renderUnit(run.plan, run.progress, { unit: "t3_cv_inspect", now: 0 });

    expect(capture).toMatchObject({
      value: {
        params: {
          command: 'gphoto2 --capture-image-and-download --filename /tmp/"${NIGHTSHIFT_VALUE_1}".jpg',
        },
        env: { NIGHTSHIFT_VALUE_1: run.progress.start.uuid },
      },
    });
    expect(inspect).toMatchObject({
      value: { params: { image_path: `/tmp/${run.progress.start.uuid}.jpg` } },
    });
  });
});

describe("W1: edges", () => {
  test("dependsOn waits for all; a failure above skips what depends on it, and skips travel on as skips", () => {
    const run = runOf(
      `${NO_RETRY}tasks:
  - {id: a, shell: x}
  - {id: b, shell: x}
  - {id: c, shell: x, dependsOn: [a, b]}
  - {id: d, shell: x, dependsOn: c}
  - {id: e, shell: x, dependsOn: b}`,
      failing("a"),
    ).toEnd();

    expect(run.standings()).toEqual({
      a: "failed: exit",
      b: "succeeded",
      c: "skipped: upstreamFailed",
      d: "skipped: upstreamSkipped",
      e: "succeeded",
    });
    expect(run.progress.ended).toMatchObject({ state: "failed", reason: "task a failed" });
  });

  test("continueOn lets those below go on after a failure, an exit code or a skip", () => {
    const run = runOf(
      `${NO_RETRY}tasks:
  - {id: a, shell: x, continueOn: {exitCodes: [3]}}
  - {id: b, shell: x, dependsOn: a}
  - {id: c, shell: x, when: "false", continueOn: {skipped: true}}
  - {id: d, shell: x, dependsOn: c}`,
      (unit) => (unit === "a" ? bad("no", 3) : ok()),
    ).toEnd();

    expect(run.started().sort()).toEqual(["a", "b", "d"]);
    expect(run.progress.ended?.state).toBe("partiallySucceeded");
  });

  test.each([
    ["any", ["a", "b", "j"]],
    ["all", ["a", "b"]],
  ])("join: %s over transitions, at most once", (join, started) => {
    const run = runOf(
      `${NO_RETRY}tasks:
  - {id: a, shell: x, onSuccess: j}
  - {id: b, shell: x, onSuccess: j}
  - {id: j, shell: x, join: ${join}}`,
      failing("b"),
    ).toEnd();

    expect(run.started().sort()).toEqual(started);
  });

  test("a failure whose handler was skipped is not handled", () => {
    const run = runOf(
      `${NO_RETRY}tasks: [{id: a, shell: x, onFailure: h}, {id: h, shell: x, when: "error.code == 'other'"}]`,
      failing("a"),
    ).toEnd();

    expect(run.progress.ended?.state).toBe("failed");
  });

  test("a when that is no boolean, and a template that cannot be filled, fail before anything runs", () => {
    const run = runOf(`${NO_RETRY}tasks:
  - {id: a, shell: x}
  - {id: b, shell: x, dependsOn: a, when: "1 + 1"}
  - {id: c, executor: x, dependsOn: a, params: {v: "{a.result.x}"}}`).toEnd();

    expect(run.started()).toEqual(["a"]);
    expect(run.standings()).toMatchObject({ b: "failed: template", c: "failed: template" });
  });
});

describe("attempts", () => {
  test("W3: a failure is tried again after 1, 2 and 4 s, then the fallback has attempts of its own", () => {
    const starts: number[] = [];
    const run = runOf("tasks: [{id: a, executor: gpu, fallback: [cpu]}]", (_unit, _attempt, executor) =>
      executor === 0 ? bad() : ok(1),
    ).toEnd();
    for (const entry of run.journal) if (entry.kind === "started") starts.push(entry.at);

    expect(starts).toEqual([0, 1_000, 3_000, 7_000, 7_000]);
    expect(run.progress.ended?.state).toBe("succeeded");
  });

  test("W5: an executor that is offline is passed over at once and costs no attempt", () => {
    const run = runOf("tasks: [{id: a, executor: gpu, fallback: [cpu]}]", (_unit, _attempt, executor) =>
      executor === 0 ? { state: "offline", error: { code: "offline", message: "503" } } : ok(),
    ).toEnd();
    const known = runOf("tasks: [{id: a, executor: gpu, fallback: [cpu]}]");
    known.send({ kind: "executorOffline", executor: "gpu" }).toEnd();

    expect(run.now).toBe(0);
    expect(run.progress.units.get("a")).toMatchObject({ executor: 1, tries: 1 });
    expect(known.progress.units.get("a")).toMatchObject({ executor: 1, attempt: 1 });
  });

  test("an executor that stays offline without a fallback is tried as often as allowed, not for ever", () => {
    const run = runOf("tasks: [{id: a, executor: gpu}]", () => ({
      state: "offline",
      error: { code: "offline", message: "refused" },
    })).toEnd();

    expect(run.progress.units.get("a")).toMatchObject({ standing: "failed", attempt: 4 });
  });

  test("`on` and `notOn` say what is tried again", () => {
    const tries = (retry: string) =>
      runOf(`tasks: [{id: a, shell: x, retry: ${retry}}]`, () => bad("no", 75))
        .toEnd()
        .progress.units.get("a")?.attempt;

    expect(tries("{max: 2, on: timeout}")).toBe(1);
    expect(tries('{max: 2, on: "exit:75"}')).toBe(3);
    expect(tries('{max: 2, notOn: ["exit:75"]}')).toBe(1);
  });

  test("the time limit counts from the start of the attempt, not from the queue", () => {
    const run = runOf("tasks: [{id: a, shell: x, timeout: 5, retry: 1}]", () => undefined).toEnd();

    expect(run.standings()).toEqual({ a: "timedOut: timeout" });
    expect(run.now).toBe(5_000 + 1_000 + 5_000);
  });

  test("`status: error` in a result fails the task, `warning` only marks it", () => {
    const run = runOf(`${NO_RETRY}tasks: [{id: a, shell: x}, {id: b, shell: x}]`, (unit) =>
      ok(unit === "a" ? { status: "error", error: "disk full" } : { status: "warning" }),
    ).toEnd();

    expect(run.progress.units.get("a")).toMatchObject({
      standing: "failed",
      error: { message: "disk full" },
    });
    expect(run.progress.units.get("b")).toMatchObject({ standing: "succeeded", hasWarning: true });
  });

  test("an answer that comes after the attempt it belongs to changes nothing", () => {
    const run = runOf("tasks: [{id: a, shell: x}]", (_unit, attempt) =>
      attempt === 1 ? bad() : undefined,
    ).settle();
    run.now = 1_000;
    run.settle().send({ kind: "ended", unit: "a", attempt: 1, outcome: ok("late") });

    expect(run.standings()).toEqual({ a: "running" });
  });
});

describe("L6: a lost owner", () => {
  const lose = (task: string) => runOf(`tasks: [{id: a, shell: x, ${task}}]`, () => undefined).settle();

  test("external work waits for a person's word, and is not run again by itself", () => {
    const run = lose("effects: external").send({ kind: "lost", unit: "a", attempt: 1 }).settle();

    expect(run.standings()).toEqual({ a: "waiting: effect" });
    run.send({ kind: "resolved", unit: "a", as: "succeeded", by: "ann", result: 7 }).settle();
    expect(run.progress.ended?.state).toBe("succeeded");
  });

  test("idempotent work runs again twice at most, with the same key, and then asks", () => {
    const run = lose("effects: idempotent");
    const keys = new Set<unknown>();
    for (const attempt of [1, 2, 3]) {
      const rendered = renderUnit(run.plan, run.progress, { unit: "a", now: 0 });
      keys.add(rendered.ok && rendered.value.idempotencyKey);
      run.send({ kind: "lost", unit: "a", attempt }).settle();
    }

    expect(run.standings()).toEqual({ a: "waiting: effect" });
    expect([...keys]).toEqual(["r1/a"]);
  });

  test.each([
    ["fail", { a: "failed: unknown" }],
    ["rerun", { a: "running" }],
  ])("onUnknown: %s decides without asking", (word, standings) => {
    const run = lose(`onUnknown: ${word}`).send({ kind: "lost", unit: "a", attempt: 1 }).settle();

    expect(run.standings()).toEqual(standings);
  });
});

describe("foreach, handlers, finally", () => {
  const each = (more: string) =>
    `${NO_RETRY}tasks: [{id: f, executor: x, params: {name: "{{ file }}"}, foreach: {items: "{{ params.files }}", as: file, ${more}}}]`;

  test("items run at most `max` at once and their results keep order", () => {
    const run = runOf(each("max: 2"), () => undefined).settle();
    expect(run.standings()).toEqual({ f: "expanded", "f[0]": "running", "f[1]": "running" });
    const rendered = renderUnit(run.plan, run.progress, { unit: "f[1]", now: 0 });
    expect(rendered).toMatchObject({ value: { params: { name: "y" } } });

    const done = runOf(each("max: 2"), (unit) => ok(unit)).toEnd();
    expect(done.progress.units.get("f")?.result).toEqual(["f[0]", "f[1]", "f[2]"]);
  });

  test("with failFast the first failure ends the others; without it they all run", () => {
    const fast = runOf(each("max: 1, failFast: true"), failing("f[0]")).toEnd();
    const slow = runOf(each("max: 1"), failing("f[0]")).toEnd();

    expect(fast.standings()).toMatchObject({ f: "failed: items", "f[1]": "skipped: failFast" });
    expect(slow.standings()).toMatchObject({ f: "failed: items", "f[1]": "succeeded", "f[2]": "succeeded" });
  });

  const withEnds = `${NO_RETRY}finally: clean
handlers: {success: s, failure: h, cancelled: c}
outputs: {of: "{{ a.result }}", gone: "{{ a.result.x }}"}
tasks: [{id: a, shell: x}, {id: s, shell: x}, {id: h, executor: x, params: {e: "{error}"}}, {id: c, shell: x}, {id: clean, shell: x}]`;

  test("the handler of how it ended runs, then finally; outputs are handed back", () => {
    const good = runOf(withEnds, () => ok(5)).toEnd();
    const failed = runOf(withEnds, failing("a")).toEnd();

    expect(good.started()).toEqual(["a", "s", "clean"]);
    expect(good.progress.ended?.outputs).toEqual({ of: 5, gone: null });
    expect(failed.started()).toEqual(["a", "h", "clean"]);
    expect(failed.progress.ended?.state).toBe("failed");
  });

  test("a cancel stops what runs, then its handler and finally run, and only then the run has ended", () => {
    const run = runOf(withEnds, (unit) => (unit === "a" ? undefined : ok())).settle();
    run.send({ kind: "cancelRequested", by: "ann" }).toEnd();

    expect(run.started()).toEqual(["a", "c", "clean"]);
    expect(run.standings().a).toBe("cancelled: cancelled");
    expect(run.progress.ended).toMatchObject({ state: "cancelled", reason: "ann" });
  });

  test("the whole run's limit ends the graph, and finally runs even so", () => {
    const run = runOf(
      `timeout: 9\nfinally: z\ntasks: [{id: a, shell: x, timeout: 0}, {id: z, shell: x}]`,
      (unit) => (unit === "a" ? undefined : ok()),
    ).toEnd();

    expect(run.now).toBe(9_000);
    expect(run.started()).toEqual(["a", "z"]);
    expect(run.progress.ended?.state).toBe("timedOut");
  });

  test("a wait ends by itself, an approval by a person or by its limit", () => {
    const yaml = 'tasks: [{id: w, wait: 30}, {id: a, approval: {message: "go?", timeout: 60}, dependsOn: w}]';
    const late = runOf(yaml).toEnd();
    const asked = runOf(yaml);
    asked.settle();
    asked.now = 30_000;
    asked.settle().send({ kind: "resolved", unit: "a", as: "failed", by: "ann" }).settle();

    expect(late.standings()).toEqual({ w: "succeeded", a: "timedOut: approvalTimeout" });
    expect(late.now).toBe(90_000);
    expect(asked.progress.units.get("a")?.error).toEqual({ code: "rejected", message: "refused by ann" });
  });
});
