// Steps of the wall clock (T8): the real scheduler on the real SQLite ledger, an hour and a day in both directions.

import { expect, test } from "vitest";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import { auditJob } from "../../src/schedule/audit.ts";
import { openWorld, type World } from "./core/world.ts";

const JOB = `${JSON.stringify({
  id: "minutely",
  schedule: "* * * * *",
  timezone: "UTC",
  deliver: [],
  run: { task: { executor: "work", params: {} } },
})}\n`;

async function withWorld(work: (world: World) => Promise<void>): Promise<void> {
  const world = await openWorld();
  try {
    await world.writeFile("minutely.yaml", JOB);
    await world.sync();
    await world.advance(2 * SECOND);
    await world.sync();
    await minutes(world, 3);
    await work(world);
  } finally {
    await world.close();
  }
}

/** Lets `count` minutes go by under one node, which does what is due. */
async function minutes(world: World, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    await world.advance(MINUTE);
    await onePass(world);
  }
}

async function onePass(world: World): Promise<void> {
  const node = await world.node(0);
  await node.pass();
  await node.start();
  while (node.begunRuns > 0) await node.finish("ok");
}

async function auditOf(world: World) {
  const window = { since: 0, until: world.now() };
  const view = await world.context.ledger.auditView("minutely", window);
  return auditJob(view!, window, world.context.parseJob);
}

const stepsOf = async (world: World) =>
  (await world.sql(`SELECT "data" FROM "runEvents" WHERE "kind" = 'clock-stepped' ORDER BY "sequence"`)).map(
    ({ data }) => (JSON.parse(String(data)) as { kind: string }).kind,
  );

test.for([HOUR, DAY])(
  "T8: after a step of +%i ms nothing beyond it is decided until it has held 60 s",
  async (step) => {
    await withWorld(async (world) => {
      const decided = await world.sql(`SELECT "nextSlot" FROM "cursors"`);
      await world.step(step);
      await onePass(world);
      await world.advance(30 * SECOND);
      await onePass(world);
      expect(await world.sql(`SELECT "nextSlot" FROM "cursors"`), "held").toEqual(decided);

      await world.advance(31 * SECOND);
      await onePass(world);
      await minutes(world, 2);

      expect(await stepsOf(world)).toEqual(["held", "accepted"]);
      const { missing, doubled, early, pending, due, accounted } = await auditOf(world);
      expect({ missing, doubled, early, pending }).toEqual({
        missing: [],
        doubled: [],
        early: [],
        pending: 0,
      });
      expect(accounted).toBe(due);
      expect(due).toBeGreaterThanOrEqual(step / MINUTE);
    });
  },
);

test.for([HOUR, DAY])(
  "T8: a step of +%i ms that is taken back within 60 s costs nothing and makes nothing early",
  async (step) => {
    await withWorld(async (world) => {
      await world.step(step);
      await onePass(world);
      await world.advance(20 * SECOND);
      await world.step(-step);
      await onePass(world);
      await minutes(world, 3);

      expect(await stepsOf(world)).toEqual(["held", "withdrawn"]);
      const { missing, doubled, early } = await auditOf(world);
      expect({ missing, doubled, early }).toEqual({ missing: [], doubled: [], early: [] });
      expect(world.deeds.length).toBeGreaterThanOrEqual(5);
    });
  },
);

test.for([HOUR, DAY])(
  "T8: after a step of -%i ms what had begun is named early, and everything else comes due again",
  async (step) => {
    await withWorld(async (world) => {
      const begunBefore = world.deeds.length;
      await world.step(-step);
      await onePass(world);
      await minutes(world, 5);

      expect(await stepsOf(world)).toEqual(["steppedBack"]);
      const { missing, doubled, pending } = await auditOf(world);
      expect({ missing, doubled, pending }).toEqual({ missing: [], doubled: [], pending: 0 });
      const early = await world.sql(`SELECT "runId" FROM "resolutions" WHERE "as" = 'early'`);
      expect(early).toHaveLength(begunBefore);
      expect(world.deeds.length, "it goes on at once").toBeGreaterThanOrEqual(begunBefore + 4);
    });
  },
);
