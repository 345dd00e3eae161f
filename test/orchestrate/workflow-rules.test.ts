// The rules of graphs, one after the other, as docs/workflows.md and peers.md §5.2 state them (W1). How a node keeps them
// is tested in test/app/workflows and test/faults.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isFault } from "../../src/kernel/errors.ts";
import { requireSound } from "../../src/orchestrate/check/check-workflow.ts";
import { advance } from "../../src/orchestrate/graph/advance.ts";
import { renderUnit } from "../../src/orchestrate/graph/render-unit.ts";
import { scopeOf } from "../../src/orchestrate/graph/scope.ts";
import { parseWorkflowDocument } from "../../src/records/workflow-document.ts";
import { type Answer, bad, ok, planOf, runOf, TestRun } from "./runs.ts";

const NO_RETRY = "defaults: {retry: 0}\n";
const failing =
  (...units: string[]): Answer =>
  (unit) =>
    units.includes(unit) ? bad() : ok();

/** What is decided now, with nothing carried out. */
const advanceOnly = ({ plan, progress, now }: TestRun) => advance(plan, progress, now);

/** The refusal of a workflow, as a person reads it. */
function refusalOf(yaml: string): string {
  const { source } = parseWorkflowDocument(yaml, { file: "w.yaml" });
  const machines = [{ cpu: 4, memoryMb: 8_000, gpu: 1, gpuMemoryMb: 4_096, labels: [] }];
  try {
    requireSound(planOf(yaml), source, { executors: new Map(), machines });
  } catch (error) {
    if (isFault(error)) return error.message;
    throw error;
  }
  return "";
}

describe("G1: two kinds of edge", () => {
  const twoEdges = `${NO_RETRY}tasks:
  - {id: a, shell: x, onSuccess: [c]}
  - {id: b, shell: x, onComplete: [c]}
  - {id: slow, shell: x}
  - {id: c, shell: x, dependsOn: [slow]}`;

  test("a target of any transition is no root: it waits for one and for all that it depends on", () => {
    const run = runOf(twoEdges, (unit) => (unit === "slow" ? undefined : ok())).settle();

    expect(run.started().sort()).toEqual(["a", "b", "slow"]);
  });

  test("however many transitions lead to a task, it starts once, by whichever came first", () => {
    const run = runOf(twoEdges).toEnd();

    expect(run.started().filter((unit) => unit === "c")).toEqual(["c"]);
    expect(run.progress.units.get("c")?.activatedBy).toBe("a");
  });

  test("a task that nothing leads to is a root, and all roots start at once", () => {
    const run = runOf("tasks: [{id: a, shell: x}, {id: b, shell: x}, {id: c, shell: x}]", () => undefined);

    expect(run.settle().started()).toEqual(["a", "b", "c"]);
  });
});

describe("G2, W2: the seed's line", () => {
  const seed = () => readFile(join(import.meta.dirname, "fixtures/inspection_workflow.yaml"), "utf8");

  test.each(["t1_plc_trigger", "t2_image_capture", "t3_cv_inspect", "t6_decision"])(
    "the alert has four edges, and is sent once when %s fails",
    async (broken) => {
      const run = new TestRun(planOf(await seed()), failing(broken)).toEnd();

      expect(run.started().filter((unit) => unit === "t5_alert")).toEqual(["t5_alert"]);
      expect(run.progress.ended?.state).toBe("partiallySucceeded");
    },
  );

  test("both edges of the sound analysis lead to the decision, which sees a null result and the error", async () => {
    const run = new TestRun(planOf(await seed()), failing("t4_audio_analyze")).toEnd();
    const heads = new Set(["t4_audio_analyze"]);
    const scope = scopeOf(run.plan, run.progress, { heads, now: run.now });

    expect(scope.t4_audio_analyze).toMatchObject({ result: null, error: { message: "broken" } });
    expect(run.started()).toContain("t6_decision");
  });
});

test.each([
  ["no failure", [], "succeeded"],
  ["a failure whose onFailure task ran", ["a"], "partiallySucceeded"],
  ["a failure that nobody handles", ["b"], "failed"],
  ["one of each", ["a", "b"], "failed"],
  ["a handler that failed, too", ["a", "h"], "failed"],
] as [string, string[], string][])("G3: %s: the run's state follows", (_, broken, state) => {
  const yaml = `${NO_RETRY}tasks: [{id: a, shell: x, onFailure: [h]}, {id: b, shell: x}, {id: h, shell: x}]`;
  const run = runOf(yaml, failing(...broken)).toEnd();

  expect(run.progress.ended?.state).toBe(state);
  if (!broken.includes("a")) expect(run.standings().h).toBe("skipped: notActivated");
});

test("G4: a skip travels on as a skip and fails nothing; `continueOn.skipped` ends it there", () => {
  const run = runOf(`${NO_RETRY}tasks:
  - {id: a, shell: x, when: "false"}
  - {id: b, shell: x, dependsOn: [a]}
  - {id: c, shell: x, dependsOn: [b]}
  - {id: d, shell: x, when: "false", continueOn: {skipped: true}}
  - {id: e, shell: x, dependsOn: [d]}`).toEnd();

  expect(run.standings()).toEqual({
    a: "skipped: when",
    b: "skipped: upstreamSkipped",
    c: "skipped: upstreamSkipped",
    d: "skipped: when",
    e: "succeeded",
  });
  expect(run.progress.ended?.state).toBe("succeeded");
});

test.each([
  ["dependsOn alone", "{id: a, shell: x, dependsOn: [b]}, {id: b, shell: x, dependsOn: [a]}", "each other"],
  ["both kinds", "{id: a, shell: x, onSuccess: [b]}, {id: b, shell: x, onFailure: [a]}", "each other"],
  ["a task and itself", "{id: a, shell: x, onFailure: [a]}", "a"],
  ["a reference to a task beside it", '{id: a, shell: x}, {id: b, shell: "echo {a.result}"}', "not upstream"],
  [
    "a reference to a task below it",
    '{id: a, shell: "echo {b.result}", onSuccess: [b]}, {id: b, shell: x}',
    "not upstream",
  ],
])("G5: a circle or a reference that cannot be is refused: %s", (_, tasks, words) => {
  expect(refusalOf(`tasks: [${tasks}]`)).toContain(words);
});

test("G6: retries repeat one executor, then the fallback has attempts of its own; the result says who did it", () => {
  const executors: number[] = [];
  const run = runOf(
    "tasks: [{id: a, executor: gpu, retry: {max: 1, delay: 1s}, fallback: [cpu]}, {id: b, shell: x, dependsOn: [a]}]",
    (unit, _attempt, executor) => {
      if (unit === "a") executors.push(executor);
      return unit === "a" && (executor === 0 || executors.length < 4) ? bad() : ok();
    },
  ).toEnd();
  const scope = scopeOf(run.plan, run.progress, { heads: new Set(["a"]), now: run.now });

  expect(executors).toEqual([0, 0, 1, 1]);
  expect(scope.a).toMatchObject({ attempts: 4, degraded: true, executorUsed: "cpu", status: "succeeded" });
});

test("G6, W5: an executor that is offline is passed over and charged nothing; its failure leads to onFailure last", () => {
  const run = runOf(
    "defaults: {retry: 0}\ntasks: [{id: a, executor: gpu, fallback: [cpu], onFailure: [h]}, {id: h, shell: x}]",
    (unit) => (unit === "a" ? bad() : ok()),
  );
  run.send({ kind: "executorOffline", executor: "gpu" }).toEnd();

  expect(run.progress.units.get("a")).toMatchObject({ attempt: 1, executor: 1, standing: "failed" });
  expect(run.started()).toEqual(["a", "h"]);
});

test("G7: a time limit counts from the start; the queue has one of its own, and none unless it is set", () => {
  const wait = (more: string) => {
    const run = runOf(`${NO_RETRY}tasks: [{id: a, shell: x, timeout: 5${more}}]`, () => undefined);
    for (const decision of advanceOnly(run)) run.record(decision);
    run.now = 60_000;
    return advanceOnly(run).map(({ kind }) => kind);
  };

  expect(wait(""), "still queued after a minute: not its time").toEqual([]);
  expect(wait(", queueTimeout: 30")).toEqual(["stop"]);
});

test("G8: a request that no machine can meet is refused with what is missing", () => {
  expect(refusalOf("tasks: [{id: a, shell: x, resources: {gpuMemoryMb: 8192}}]")).toContain(
    'task "a" needs 8192 MB of GPU memory, no machine has more than 4096',
  );
});

test("G9: a cancel starts nothing further, stops what runs, runs `cancelled` and finally, and ends only then", () => {
  const run = runOf(
    `${NO_RETRY}finally: [z]
handlers: {success: [s], failure: [f], cancelled: [c]}
tasks: [{id: a, shell: x}, {id: b, shell: x, dependsOn: [a]}, {id: s, shell: x}, {id: f, shell: x}, {id: c, shell: x}, {id: z, shell: x}]`,
    (unit) => (["a", "z"].includes(unit) ? undefined : ok()),
  ).settle();
  run.send({ kind: "cancelRequested", by: "ann" }).settle();

  expect(run.started()).toEqual(["a", "c", "z"]);
  expect(run.standings()).toMatchObject({
    a: "cancelled: cancelled",
    b: "cancelled: cancelled",
    z: "running",
  });
  expect(run.progress.ended, "finally still runs").toBeUndefined();
  run.send({ kind: "ended", unit: "z", attempt: 1, outcome: ok() }).settle();
  expect(run.progress.ended).toMatchObject({ state: "cancelled", reason: "ann" });
});

test.each([
  ["none", "ask", "running"],
  ["idempotent", "ask", "running"],
  ["external", "ask", "waiting: effect"],
  ["external", "rerun", "running"],
  ["external", "fail", "failed: unknown"],
])("G10, L6: after a crash effects %s with onUnknown %s: %s", (effects, onUnknown, standing) => {
  const yaml = `${NO_RETRY}tasks: [{id: done, shell: x}, {id: a, shell: x, dependsOn: [done], effects: ${effects}, onUnknown: ${onUnknown}}]`;
  const crashed = runOf(yaml, (unit) => (unit === "a" ? undefined : ok())).settle();
  const next = new TestRun(crashed.plan, () => undefined, crashed.journal);
  next.send({ kind: "lost", unit: "a", attempt: 1 }).settle();

  expect(next.standings()).toEqual({ done: "succeeded", a: standing });
  expect(next.started().filter((unit) => unit === "done")).toHaveLength(1);
});

test("G11: retries, reruns and fallbacks of a task keep its idempotency key; the attempt number alone is raised", () => {
  const run = runOf(
    "tasks: [{id: a, executor: x, retry: {max: 2, delay: 1s}, fallback: [y], effects: idempotent}]",
    () => undefined,
  ).settle();
  const seen: [unknown, number | undefined][] = [];
  const look = () => {
    const rendered = renderUnit(run.plan, run.progress, { unit: "a", now: run.now });
    seen.push([rendered.ok && rendered.value.idempotencyKey, run.progress.units.get("a")?.attempt]);
  };
  look();
  run.send({ kind: "ended", unit: "a", attempt: 1, outcome: bad() }).settle();
  run.now += 1_000;
  run.settle();
  look();
  run.send({ kind: "lost", unit: "a", attempt: 2 }).settle();
  look();
  run
    .send({
      kind: "ended",
      unit: "a",
      attempt: 3,
      outcome: { state: "offline", error: { code: "offline", message: "503" } },
    })
    .settle();
  look();

  expect(seen).toEqual([1, 2, 3, 4].map((attempt) => ["r1/a", attempt]));
});

test.each([
  ["status: error", { status: "error", error: "no paper" }, "failed", false],
  ["status: warning", { status: "warning" }, "succeeded", true],
  ["status: ok", { status: "ok" }, "succeeded", false],
  ["a status of its own", { status: "shipped" }, "succeeded", false],
  ["no map at all", [1, "a", null], "succeeded", false],
])("G12: a result with %s", (_, result, standing, hasWarning) => {
  const run = runOf(`${NO_RETRY}tasks: [{id: a, shell: x}]`, () => ok(result)).toEnd();

  expect(run.progress.units.get("a")).toMatchObject({ standing });
  expect(run.progress.units.get("a")?.hasWarning ?? false).toBe(hasWarning);
});

test("G12, dagu#231, dagu#917: a value reaches the next task with its quotes and types, in params and in a shell", () => {
  const run = runOf(
    `${NO_RETRY}tasks:
  - {id: a, shell: x}
  - {id: b, executor: x, params: {all: "{{ a.result }}", n: "{a.result.n}", text: "n={a.result.n}"}, dependsOn: [a]}
  - {id: c, shell: "cat <<< {a.result}", dependsOn: [a]}`,
    (unit) => (unit === "a" ? ok({ key: 'va"lue', n: 3 }) : ok()),
  ).toEnd();
  const rendered = (unit: string) => renderUnit(run.plan, run.progress, { unit, now: 0 });

  expect(rendered("b")).toMatchObject({
    value: { params: { all: { key: 'va"lue', n: 3 }, n: 3, text: "n=3" } },
  });
  expect(rendered("c")).toMatchObject({ value: { env: { NIGHTSHIFT_VALUE_1: '{"key":"va\\"lue","n":3}' } } });
});

describe("G13, dagu#2739: a reference that cannot be filled", () => {
  test("fails its task before a shell sees it; a default fills it", () => {
    const run = runOf(`${NO_RETRY}tasks:
  - {id: a, shell: x}
  - {id: b, shell: "echo {a.result.gone}", dependsOn: [a]}
  - {id: c, executor: x, params: {v: "{a.result.gone ?? 'none'}"}, dependsOn: [a]}`).toEnd();

    expect(run.started()).toEqual(["a", "c"]);
    expect(run.progress.units.get("b")?.error).toMatchObject({ code: "template" });
    expect(renderUnit(run.plan, run.progress, { unit: "c", now: 0 })).toMatchObject({
      value: { params: { v: "none" } },
    });
  });

  test("is refused before the run where that can be seen", () => {
    expect(
      refusalOf('tasks: [{id: a, shell: x}, {id: b, shell: "echo {a.reslt}", dependsOn: [a]}]'),
    ).toContain("there is no a.reslt");
  });
});
