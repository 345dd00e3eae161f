// Jobs that people change while the wall clock is wrong, and what the ledger says after it was set right (T8, L2, L9).

import { expect, test } from "vitest";
import { changeJob } from "../../src/app/job-changes.ts";
import { HOUR, MINUTE } from "../../src/kernel/time.ts";
import {
  auditOf,
  believedStep,
  minutes,
  onePass,
  settleFiles,
  withWorld,
  writeJob,
} from "./core/minutely.ts";
import type { World } from "./core/world.ts";

const WRONG = 2 * HOUR;

const pause = (world: World, until?: number) =>
  changeJob(world.context, "minutely", {
    ...{ kind: "suspend", suspension: "paused", by: "test", reason: "test" },
    ...(until === undefined ? {} : { until }),
  });
const resume = (world: World) =>
  changeJob(world.context, "minutely", { kind: "resume", suspension: "paused", by: "test" });

async function edit(world: World, parts: object): Promise<void> {
  await writeJob(world, parts);
  await settleFiles(world);
}

async function remove(world: World): Promise<void> {
  await world.deleteFile("minutely.yaml");
  await settleFiles(world);
}

/** Runs whose slot lies ahead of the clock, by the work itself. */
const begunAhead = (world: World) =>
  world.deeds
    .filter(({ slot }) => slot !== undefined && slot > world.now())
    .map(({ runId }) => runId)
    .sort();

/** Nothing missing, nothing twice, and early is what was. */
async function expectTruth(world: World, early: readonly string[]): Promise<void> {
  const audit = await auditOf(world);
  const { missing, doubled, pending, shifted } = audit;
  expect({ missing, doubled, pending, shifted }).toEqual({
    ...{ missing: [], doubled: [], pending: 0, shifted: [] },
  });
  expect(audit.accounted).toBe(audit.due);
  expect(audit.early.flatMap(({ runIds }) => runIds).sort()).toEqual(early);
}

interface Case {
  what: string;
  /** What people do under the wrong clock. */
  change(world: World): Promise<unknown>;
  /** Whether the job goes on at once when the clock is right. */
  goesOn: boolean;
}

const CASES: Case[] = [
  { what: "nothing was changed", change: async () => {}, goesOn: true },
  {
    what: "its schedule was edited",
    change: (world) => edit(world, { schedule: "every 40s" }),
    goesOn: true,
  },
  {
    what: "it was edited twice",
    change: async (world) => {
      await edit(world, { schedule: "*/5 * * * *" });
      await edit(world, { schedule: "* * * * *", overlap: "allow" });
    },
    goesOn: true,
  },
  { what: "it was paused", change: (world) => pause(world), goesOn: false },
  {
    what: "it was paused and resumed",
    change: async (world) => {
      await pause(world);
      await minutes(world, 2);
      await resume(world);
    },
    goesOn: true,
  },
  { what: "it was disabled", change: (world) => edit(world, { enabled: false }), goesOn: false },
  { what: "it was removed", change: remove, goesOn: false },
  {
    what: "it was removed and came back",
    change: async (world) => {
      await remove(world);
      await minutes(world, 2);
      await edit(world, { schedule: "every 40s" });
    },
    goesOn: true,
  },
];

test.for(CASES)(
  "T8, L2: the clock was two hours ahead and $what: set right, each slot is accounted for once",
  async ({ change, goesOn }) => {
    await withWorld(async (world) => {
      await believedStep(world, WRONG);
      await change(world);
      await minutes(world, 2);
      await world.step(-WRONG);
      const early = begunAhead(world);
      expect(early.length).toBeGreaterThan(0);
      const begun = world.deeds.length;
      await onePass(world);
      await minutes(world, 4);

      expect(world.deeds.length > begun, "it goes on").toBe(goesOn);
      await expectTruth(world, early);
      // Three hours without a node: the stretch that nobody saw lies over what began early.
      await world.advance(3 * HOUR);
      await onePass(world);
      await expectTruth(world, early);
    });
  },
);

test.for(CASES)(
  "T8, L2: the clock is set back by an hour and, before any pass, $what: each slot is accounted for once",
  async ({ change }) => {
    await withWorld(async (world) => {
      await world.step(-HOUR);
      const early = begunAhead(world);
      expect(early).toHaveLength(3);
      await change(world);
      await minutes(world, 70);

      await expectTruth(world, early);
    });
  },
);

test("T8: without a node, a change after the clock was set back finds the job as it is at the true hour", async () => {
  await withWorld(async (world) => {
    await world.step(-HOUR);
    const early = begunAhead(world);
    await writeJob(world, { overlap: "allow" });
    await settleFiles(world);

    const { definition, cursor } = (await world.context.ledger.job("minutely"))!;
    expect(definition).toMatchObject({ version: 2, inForceFrom: world.now() });
    expect(cursor.nextSlot).toBe(Math.ceil(world.now() / MINUTE) * MINUTE);
    await expectTruth(world, early);
  });
});

test("T8: a change recorded under a wrong clock that no pass has seen is noticed by the next pass", async () => {
  await withWorld(async (world) => {
    await world.step(WRONG);
    await edit(world, { overlap: "allow" });
    await world.step(-WRONG);
    const begun = world.deeds.length;
    await minutes(world, 3);

    expect(world.deeds.length, "it does not wait for two hours").toBeGreaterThan(begun);
    await expectTruth(world, []);
  });
});

test("T8: what a node that is gone did under a wrong clock is taken back by one that never saw that clock", async () => {
  await withWorld(async (world) => {
    await believedStep(world, WRONG, 1);
    world.crash(1);
    await world.step(-WRONG);
    const early = begunAhead(world);
    const begun = world.deeds.length;
    await minutes(world, 3);

    expect(early.length).toBeGreaterThan(0);
    expect(world.deeds.length, "it does not wait for two hours").toBeGreaterThan(begun);
    await expectTruth(world, early);
  });
});

test("T8, D4: a pause still holds when the clock is set back to before its beginning", async () => {
  await withWorld(async (world) => {
    await pause(world);
    await world.step(-HOUR);
    const early = begunAhead(world);
    await minutes(world, 70);
    expect(world.deeds).toHaveLength(3);
    await expectTruth(world, early);

    await resume(world);
    await minutes(world, 2);
    expect(world.deeds).toHaveLength(5);
    await expectTruth(world, early);
  });
});

test("T8, D4: a pause that ended by itself under a wrong clock lasts until its end", async () => {
  await withWorld(async (world) => {
    await pause(world, world.now() + HOUR);
    await believedStep(world, WRONG);
    await world.step(-WRONG);
    const early = begunAhead(world);
    const begun = world.deeds.length;
    await minutes(world, 50);
    expect(world.deeds, "paused").toHaveLength(begun);

    await minutes(world, 15);
    expect(world.deeds.length).toBeGreaterThan(begun);
    await expectTruth(world, early);
  });
});

test("T8, T9: a job that a wrong clock completed goes on to its true end", async () => {
  const until = new Date(Date.parse("2026-03-07T22:30:00Z")).toISOString();
  await withWorld(
    async (world) => {
      await believedStep(world, WRONG);
      expect((await world.context.ledger.job("minutely"))?.cursor.suspensions).toMatchObject([
        { kind: "completed", reason: "until" },
      ]);
      await world.step(-WRONG);
      const early = begunAhead(world);
      const begun = world.deeds.length;
      await minutes(world, 40);

      expect(world.deeds.length).toBeGreaterThan(begun + 20);
      expect((await world.context.ledger.job("minutely"))?.cursor.suspensions).toMatchObject([
        { kind: "completed", reason: "until" },
      ]);
      await expectTruth(world, early);
    },
    { until },
  );
});

test("T8, T9: a completion that a step back finds off the record is put on it by a look at once", async () => {
  await withWorld(
    async (world) => {
      await world.step(-HOUR);
      const early = begunAhead(world);
      await onePass(world);
      await minutes(world, 2);

      expect(world.deeds).toHaveLength(3);
      expect((await world.context.ledger.job("minutely"))?.cursor).toMatchObject({
        ...{ nextSlot: undefined, suspensions: [{ kind: "completed", reason: "repeat" }] },
      });
      await expectTruth(world, early);
    },
    { repeat: 3 },
  );
});

test("T8, L3: what was claimed under a wrong clock and had not begun begins at its own time, once", async () => {
  await withWorld(async (world) => {
    await world.advance(MINUTE);
    const node = await world.node(0);
    await node.pass();
    expect(node.liveRuns).toBe(1);
    await world.step(-HOUR);
    const early = begunAhead(world);
    await node.pass();
    await node.start();
    expect(world.deeds).toHaveLength(3);
    await minutes(world, 70);

    const slots = world.deeds.map(({ slot }) => slot);
    expect(new Set(slots).size).toBe(slots.length);
    await expectTruth(world, early);
  });
});
