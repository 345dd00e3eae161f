import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AdmitSettings,
  admit,
  type RunningTask,
  type WaitingTask,
  whyOversubscribed,
} from "../../src/orchestrate/queues/admit.ts";

const settings: AdmitSettings = {
  maxConcurrent: 8,
  queues: [
    { name: "high_priority", priority: 10, width: 3 },
    { name: "low_priority", priority: 1, width: 5 },
  ],
};
const task = (id: string, over: Partial<WaitingTask> = {}): WaitingTask => ({
  id,
  queue: "low_priority",
  enqueuedAt: 0,
  ...over,
});
const ids = (list: readonly { id: string }[]) => list.map((item) => item.id);

describe("W4: what starts", () => {
  test("each queue up to its width, the higher priority first, first come first served", () => {
    const waiting = [
      ...Array.from({ length: 6 }, (_, at) => task(`l${at}`, { enqueuedAt: 10 - at })),
      ...Array.from({ length: 4 }, (_, at) => task(`h${at}`, { queue: "high_priority" })),
    ];

    expect(ids(admit(settings, { waiting, running: [] }, 20).start)).toEqual([
      "h0",
      "h1",
      "h2",
      "l5",
      "l4",
      "l3",
      "l2",
      "l1",
    ]);
  });

  test("shares that add up to more than there is are refused with the numbers", () => {
    expect(whyOversubscribed(settings)).toBeUndefined();
    expect(whyOversubscribed({ ...settings, maxConcurrent: 7 })).toContain("adds up to 8");
  });

  test("among equals the owner with the fewest running tasks goes first", () => {
    const waiting = [
      task("a1", { owner: "a" }),
      task("a2", { owner: "a" }),
      task("b1", { owner: "b", enqueuedAt: 5 }),
    ];

    expect(ids(admit({ ...settings, maxConcurrent: 2 }, { waiting, running: [] }, 9).start)).toEqual([
      "a1",
      "b1",
    ]);
  });

  test("a rate counts earlier starts, whether they still run or not", () => {
    const queues = [{ name: "q", priority: 1, width: 9, rate: { max: 2, perMs: 1_000 } }];
    const waiting = ["a", "b", "c"].map((id) => task(id, { queue: "q" }));
    const starts = [{ queue: "q", at: 500 }];

    expect(ids(admit({ queues, maxConcurrent: 9 }, { waiting, running: [], starts }, 1_000).start)).toEqual([
      "a",
    ]);
    expect(ids(admit({ queues, maxConcurrent: 9 }, { waiting, running: [], starts }, 1_500).start)).toEqual([
      "a",
      "b",
    ]);
  });

  test.each([
    ["queue", { start: [], skip: [], cancel: [] }],
    ["skip", { start: [], skip: [{ id: "new", group: "g" }], cancel: [] }],
    ["cancel", { start: [], skip: [], cancel: [{ id: "old", group: "g", for: "new" }] }],
  ] as const)("a full group with onConflict: %s", (onConflict, expected) => {
    const waiting = [task("new", { group: { key: "g", max: 1, onConflict } })];
    const running: RunningTask[] = [{ id: "old", queue: "low_priority", startedAt: 0, group: { key: "g" } }];

    expect(admit(settings, { waiting, running }, 9)).toEqual(expected);
  });

  test("who has been asked to make room is not asked again, and nobody else in its place", () => {
    const waiting = [task("new", { group: { key: "g", max: 2, onConflict: "cancel" } })];
    const running: RunningTask[] = [
      { id: "old", queue: "low_priority", startedAt: 0, group: { key: "g" }, isStopping: true },
      { id: "other", queue: "low_priority", startedAt: 1, group: { key: "g" } },
    ];

    expect(admit(settings, { waiting, running }, 9).cancel).toEqual([]);
  });

  const waitingTasks = fc.array(
    fc.record({
      queue: fc.constantFrom("high_priority", "low_priority", undefined),
      enqueuedAt: fc.nat(100_000),
      owner: fc.constantFrom("a", "b"),
      group: fc.option(
        fc.record({
          key: fc.constantFrom("g", "h"),
          max: fc.constant(2),
          onConflict: fc.constantFrom("queue" as const, "skip" as const, "cancel" as const),
        }),
        { nil: undefined },
      ),
    }),
    { maxLength: 30 },
  );

  test("never more than a width, a group or the whole allows, and nothing is left idle that could start", () => {
    fc.assert(
      fc.property(waitingTasks, fc.nat(8), (records, busy) => {
        const waiting = records.map((record, at) => ({ ...record, id: `w${at}` }));
        const running = Array.from({ length: busy }, (_, at) => ({
          id: `r${at}`,
          queue: at < 3 ? "high_priority" : "low_priority",
          startedAt: at,
        }));
        const { start, skip, cancel } = admit(settings, { waiting, running }, 100_000);

        const inQueue = (name: string) =>
          running.filter((item) => item.queue === name).length +
          start.filter((item) => item.queue === name).length;
        expect(inQueue("high_priority")).toBeLessThanOrEqual(3);
        expect(inQueue("low_priority")).toBeLessThanOrEqual(5);
        for (const key of ["g", "h"])
          expect(
            waiting.filter((item) => item.group?.key === key && ids(start).includes(item.id)).length,
          ).toBeLessThanOrEqual(2);
        expect(new Set([...ids(start), ...ids(skip)]).size).toBe(start.length + skip.length);
        expect(cancel).toEqual([]);
        const after = [
          ...running,
          ...start.map((item) => ({
            ...item,
            startedAt: 100_000,
            ...(waiting.find((other) => other.id === item.id)?.group && {
              group: waiting.find((other) => other.id === item.id)?.group,
            }),
          })),
        ];
        const rest = waiting.filter((item) => !ids(start).includes(item.id));
        expect(admit(settings, { waiting: rest, running: after }, 100_000).start).toEqual([]);
      }),
    );
  });

  test("nobody waits for ever: a low task passes high ones that came later than its aging allows", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (difference, agingSeconds) => {
          const agingMs = agingSeconds * 1_000;
          const one: AdmitSettings = {
            maxConcurrent: 1,
            agingMs,
            queues: [{ name: "q", priority: 0, width: 1 }],
          };
          const low = task("low", { queue: "q", priority: 0 });
          let at = 0;
          // A flood: at each step one task of higher priority has just come, and one place is free.
          for (; at <= (difference + 2) * agingMs; at += 500) {
            const flood = task(`h${at}`, { queue: "q", priority: difference, enqueuedAt: at });
            if (admit(one, { waiting: [flood, low], running: [] }, at).start[0]?.id === "low") break;
          }
          expect(at).toBeLessThanOrEqual((difference + 1) * agingMs);
        },
      ),
    );
  });
});
