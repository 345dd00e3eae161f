import { describe, expect, test } from "vitest";
import { Fault } from "../../src/kernel/errors.ts";
import { HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import type { TargetSelector } from "../../src/records/delivery.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { parseIdleOverride, type ResolveContext, resolveJob } from "../../src/records/job-resolve.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");
const DOCUMENT: JobDocument = { id: "disk", run: { script: "disk.sh" } };

/** The rooms' functions are arguments; these record what they were asked and answer in the simplest true form. */
function context(extra: Partial<ResolveContext> = {}): ResolveContext & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    zone: "Europe/Berlin",
    anchor: NOW - HOUR,
    now: NOW,
    parseSchedule: (source, at) => {
      asked.push({ source, ...at });
      return {
        schedule: { kind: "every", everyMs: 5 * MINUTE, anchor: at.anchor ?? 0 },
        display: "",
        document: source,
      };
    },
    parseTargets: (targets) =>
      targets.map(
        (target): TargetSelector => ({
          kind: "target",
          target: { platform: String(target), text: String(target) },
        }),
      ),
    checkJitter: () => {},
    ...extra,
  };
}
const named = (name: string): TargetSelector => ({ kind: "target", target: { platform: name, text: name } });

describe("resolveJob", () => {
  test("a bare document takes every default of DESIGN §6", () => {
    expect(resolveJob(DOCUMENT, context())).toEqual({
      id: "disk",
      name: "disk",
      schedule: undefined,
      timezone: "Europe/Berlin",
      on: [],
      work: { kind: "script", script: "disk.sh", args: [] },
      deliver: [named("local")],
      onFailure: [named("local")],
      environment: "local",
      idleTimeoutMs: HOUR,
      totalTimeoutMs: 0,
      catchUp: "skip",
      catchUpLimit: 10,
      overlap: "skip",
      effects: "external",
      retry: { max: 0, delayMs: 30 * SECOND, backoff: 2, maxDelayMs: HOUR, on: [], notOn: [] },
      jitterMs: 0,
      repeat: undefined,
      until: undefined,
      env: {},
      workdir: undefined,
      enabled: true,
      origin: undefined,
    });
  });

  test("T1: the document's zone wins over the one fixed at first sight, and the anchor is passed on", () => {
    const given = context();

    const job = resolveJob({ ...DOCUMENT, schedule: "every 5m", timezone: "Asia/Tokyo" }, given);

    expect(given.asked).toEqual([{ source: "every 5m", zone: "Asia/Tokyo", now: NOW, anchor: NOW - HOUR }]);
    expect(job).toMatchObject({ timezone: "Asia/Tokyo", schedule: { anchor: NOW - HOUR } });
  });

  test("the config's defaults fill what the document leaves open, member by member", () => {
    const defaults = {
      timeout: { idle: "5m", total: "2h" },
      catchUp: "latest" as const,
      overlap: "queue" as const,
      retry: { max: 3, delay: "1m" },
      deliver: ["telegram"],
      onFailure: [],
    };

    const job = resolveJob({ ...DOCUMENT, timeout: { idle: 0 }, retry: { max: 1 } }, context({ defaults }));

    expect(job).toMatchObject({
      idleTimeoutMs: 0,
      totalTimeoutMs: 2 * HOUR,
      catchUp: "latest",
      overlap: "queue",
      retry: { max: 1, delayMs: MINUTE },
      deliver: [named("telegram")],
      onFailure: [],
    });
  });

  test("O1: alerts go where results go unless the document says otherwise; [] is none", () => {
    const deliver = ["slack"];

    expect(resolveJob({ ...DOCUMENT, deliver }, context()).onFailure).toEqual([named("slack")]);
    expect(resolveJob({ ...DOCUMENT, deliver, onFailure: [] }, context()).onFailure).toEqual([]);
  });

  test("a job with an origin delivers there by default", () => {
    expect(resolveJob({ ...DOCUMENT, origin: { platform: "telegram" } }, context()).deliver).toEqual([
      { kind: "origin" },
    ]);
  });

  test("L14: agents are given 10 minutes of silence, tasks a total of 30 s, and the override wins over all", () => {
    const agent = { ...DOCUMENT, run: { agent: { prompt: "x" } } };
    const task = { ...DOCUMENT, run: { task: { executor: "x" } } };

    expect(resolveJob(agent, context())).toMatchObject({ idleTimeoutMs: 10 * MINUTE, totalTimeoutMs: 0 });
    expect(resolveJob(task, context())).toMatchObject({ idleTimeoutMs: 0, totalTimeoutMs: 30 * SECOND });
    expect(resolveJob(agent, context({ idleOverrideMs: 1 })).idleTimeoutMs).toBe(1);
  });

  test("T5: a jitter is shown to the schedule room, whose refusal is passed on", () => {
    const refuse = () => {
      throw new Fault("job.invalid", "too large", { hint: "x" });
    };
    const document = { ...DOCUMENT, schedule: "every 5m", jitter: "4m" };

    expect(() => resolveJob(document, context({ checkJitter: refuse }))).toThrow("too large");
    expect(resolveJob(document, context()).jitterMs).toBe(4 * MINUTE);
  });
});

describe("NIGHTSHIFT_IDLE_TIMEOUT", () => {
  test.each([
    [undefined, undefined],
    ["", undefined],
    ["0", 0],
    ["90s", 90 * SECOND],
  ])("%s means %s", (text, ms) => {
    expect(parseIdleOverride(text)).toBe(ms);
  });

  test("L14: garbage is an error, not a default", () => {
    expect(() => parseIdleOverride("soon")).toThrow('NIGHTSHIFT_IDLE_TIMEOUT is "soon"');
  });
});
