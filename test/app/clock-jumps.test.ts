// Steps of the wall clock (T8): the real scheduler on the real SQLite ledger, an hour and a day in both directions.

import { expect, test } from "vitest";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import { auditOf, minutes, onePass, withWorld } from "./core/minutely.ts";
import type { World } from "./core/world.ts";

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
      const { missing, doubled, pending, early } = await auditOf(world);
      expect({ missing, doubled, pending }).toEqual({ missing: [], doubled: [], pending: 0 });
      expect(early.flatMap(({ runIds }) => runIds).sort()).toEqual(
        world.deeds
          .slice(0, begunBefore)
          .map(({ runId }) => runId)
          .sort(),
      );
      expect(world.deeds.length, "it goes on at once").toBeGreaterThanOrEqual(begunBefore + 4);
    });
  },
);
