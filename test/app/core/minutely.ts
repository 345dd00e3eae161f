// One job that runs every minute, in a world whose clock goes wrong.

import { MINUTE, SECOND } from "../../../src/kernel/time.ts";
import { type Audit, auditJob } from "../../../src/schedule/audit.ts";
import { openWorld, type World } from "./world.ts";

/** The job's file, with other parts. */
export async function writeJob(world: World, parts: object = {}): Promise<void> {
  const document = {
    ...{ id: "minutely", schedule: "* * * * *", timezone: "UTC", deliver: [] },
    ...{ run: { task: { executor: "work", params: {} } }, ...parts },
  };
  await world.writeFile("minutely.yaml", `${JSON.stringify(document)}\n`);
}

/** Looks at the folder twice: once to see the change, once to believe it. */
export async function settleFiles(world: World): Promise<void> {
  await world.sync();
  await world.advance(6 * SECOND);
  await world.sync();
}

/** The job has run three times when `work` begins. */
export async function withWorld(work: (world: World) => Promise<void>, parts: object = {}): Promise<void> {
  const world = await openWorld();
  try {
    await writeJob(world, parts);
    await settleFiles(world);
    await minutes(world, 3);
    await work(world);
  } finally {
    await world.close();
  }
}

/** Lets `count` minutes go by under one node, which does what is due. */
export async function minutes(world: World, count: number, place = 0): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    await world.advance(MINUTE);
    await onePass(world, place);
  }
}

export async function onePass(world: World, place = 0): Promise<void> {
  const node = await world.node(place);
  await node.pass();
  await node.start();
  while (node.begunRuns > 0) await node.finish("ok");
}

/** A step forward that holds until it is believed: what lies in between is missed, the newest slot runs. */
export async function believedStep(world: World, ms: number, place = 0): Promise<void> {
  await world.step(ms);
  await onePass(world, place);
  await world.advance(MINUTE + SECOND);
  await onePass(world, place);
}

export async function auditOf(world: World): Promise<Audit> {
  const window = { since: 0, until: world.now() };
  const view = await world.context.ledger.auditView("minutely", window);
  return auditJob(view!, window, world.context.parseJob);
}
