// The core as a property: whatever happens to two nodes, their clock and their files, the rules of L hold after every
// move, and at rest the audit is clean. Real ledger (SQLite and PostgreSQL), real planner, hand-driven clock.

import fc from "fast-check";
import { expect, test } from "vitest";
import { changeJob } from "../../src/app/job-changes.ts";
import { queueRun } from "../../src/app/jobs.ts";
import { HOUR, MINUTE, SECOND } from "../../src/kernel/time.ts";
import { hasPostgres } from "../support/postgres.ts";
import { checkInvariants, expectAtRest, type Memory, makeMemory } from "./core/invariants.ts";
import { handDrivenPostgres } from "./core/postgres.ts";
import { openWorld, type World } from "./core/world.ts";

const JOBS = ["alpha", "beta"] as const;
type JobName = (typeof JOBS)[number];

const document = fc.record({
  schedule: fc.constantFrom(
    "* * * * *",
    "*/5 * * * *",
    "every 7m",
    "30 1-3 * * *",
    "every 3h",
    "every 20s",
    "2026-03-08T01:00:00Z",
  ),
  timezone: fc.constantFrom("America/New_York", "UTC", "Europe/Berlin"),
  catchUp: fc.constantFrom("skip", "latest", "all"),
  overlap: fc.constantFrom("skip", "queue", "allow", "replace"),
  effects: fc.constantFrom("none", "idempotent", "external", "external"),
  retry: fc.constantFrom({ max: 0 }, { max: 0 }, { max: 1, delay: "2m" }),
  repeat: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined, freq: 4 }),
  enabled: fc.constantFrom(true, true, true, true, false),
  jitter: fc.constantFrom(undefined, undefined, undefined, "5s"),
  until: fc.option(fc.constantFrom("2026-03-07T23:00:00Z", "2026-03-08T09:00:00Z"), {
    nil: undefined,
    freq: 6,
  }),
});

const job = fc.constantFrom(...JOBS);
const place = fc.constantFrom(0, 1);
const kind = <Kind extends string, Model extends Record<string, fc.Arbitrary<unknown>>>(
  name: Kind,
  model = {} as Model,
) =>
  fc.record({ kind: fc.constant(name), ...model }) as unknown as fc.Arbitrary<
    { kind: Kind } & { [Key in keyof Model]: Model[Key] extends fc.Arbitrary<infer Value> ? Value : never }
  >;

const wait = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: SECOND, max: 3 * MINUTE }) },
  { weight: 1, arbitrary: fc.integer({ min: 3 * MINUTE, max: 9 * HOUR }) },
);
const jump = fc.oneof(
  fc.integer({ min: -2 * HOUR, max: -MINUTE }),
  fc.integer({ min: 2 * MINUTE, max: 26 * HOUR }),
  fc.constantFrom(-24 * HOUR, -HOUR, HOUR, 24 * HOUR),
);

const step = fc.oneof(
  { weight: 8, arbitrary: kind("pass", { place }) },
  { weight: 6, arbitrary: kind("wait", { ms: wait }) },
  { weight: 5, arbitrary: kind("start", { place }) },
  { weight: 4, arbitrary: kind("finish", { place, how: fc.constantFrom("ok", "ok", "fail") }) },
  { weight: 2, arbitrary: kind("beat", { place }) },
  { weight: 3, arbitrary: kind("recover", { place }) },
  { weight: 2, arbitrary: kind("crash", { place }) },
  { weight: 2, arbitrary: kind("freeze", { place }) },
  { weight: 1, arbitrary: kind("lateBeat") },
  { weight: 1, arbitrary: kind("lateFinish", { how: fc.constantFrom("ok", "fail") }) },
  { weight: 3, arbitrary: kind("jump", { ms: jump }) },
  { weight: 3, arbitrary: kind("edit", { job, document }) },
  { weight: 1, arbitrary: kind("halfSave", { job, document }) },
  { weight: 1, arbitrary: kind("rename", { job }) },
  { weight: 1, arbitrary: kind("delete", { job }) },
  { weight: 5, arbitrary: kind("sync") },
  {
    weight: 1,
    arbitrary: kind("pause", {
      job,
      forMs: fc.option(fc.integer({ min: MINUTE, max: 5 * HOUR }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: kind("quarantine", { job }) },
  { weight: 2, arbitrary: kind("resume", { job }) },
  { weight: 1, arbitrary: kind("byHand", { job }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
/** Steps that are done to a job or to its file. */
type JobStep = Extract<Step, { job: JobName } | { kind: "sync" }>;

const textOf = (id: string, parts: object) =>
  `${JSON.stringify({ id, ...parts, deliver: [], run: { task: { executor: "work", params: {} } } }, null, 2)}\n`;

async function play(world: World, memory: Memory, one: Step): Promise<void> {
  switch (one.kind) {
    case "wait":
      return world.advance(one.ms);
    case "jump":
      memory.everSteppedBack ||= one.ms < 0;
      return world.step(one.ms);
    case "pass":
      return (await world.node(one.place)).pass();
    case "start":
      return (await world.node(one.place)).start();
    case "finish":
      return (await world.node(one.place)).finish(one.how);
    case "beat":
      return (await world.node(one.place)).beat();
    case "recover":
      return (await world.node(one.place)).recover();
    case "crash":
      return world.crash(one.place);
    case "freeze":
      return world.freeze(one.place);
    case "lateBeat":
      return world.zombies[0]?.beat();
    case "lateFinish":
      return world.zombies[0]?.finish(one.how);
    case "pause":
    case "quarantine":
    case "resume":
      // A pause with an end puts the cursor behind it; a person's word brings it back.
      memory.cursors.clear();
      return playOnJobs(world, one);
    default:
      return playOnJobs(world, one);
  }
}

async function playOnJobs(world: World, one: JobStep): Promise<void> {
  switch (one.kind) {
    case "edit":
      return world.writeFile(`${one.job}.yaml`, textOf(one.job, one.document));
    case "halfSave": {
      const text = textOf(one.job, one.document);
      return world.writeFile(`${one.job}.yaml`, text.slice(0, text.length / 2));
    }
    case "rename": {
      const name = (await world.files()).find((file) => file.includes(one.job));
      const other = name === `${one.job}.yaml` ? `${one.job}-moved.yaml` : `${one.job}.yaml`;
      return name === undefined ? undefined : world.renameFile(name, other);
    }
    case "delete":
      for (const name of await world.files()) if (name.includes(one.job)) await world.deleteFile(name);
      return;
    case "sync":
      return world.sync();
    case "byHand":
      if (await isThere(world, one.job)) await queueRun(world.context, one.job);
      return;
    case "pause":
      return suspend(world, one.job, { suspension: "paused", forMs: one.forMs });
    case "quarantine":
      return suspend(world, one.job, { suspension: "quarantined" });
    case "resume":
      return resume(world, one.job);
  }
}

async function isThere(world: World, jobId: JobName): Promise<boolean> {
  const view = await world.context.ledger.job(jobId);
  return view !== undefined && view.cursor.removedAt === undefined;
}

async function suspend(
  world: World,
  jobId: JobName,
  { suspension, forMs }: { suspension: "paused" | "quarantined"; forMs?: number | undefined },
): Promise<void> {
  if (!(await isThere(world, jobId))) return;
  const until = forMs === undefined ? {} : { until: world.now() + forMs };
  const change = { kind: "suspend", suspension, by: "test", reason: "test" } as const;
  await changeJob(world.context, jobId, { ...change, ...until });
}

async function resume(world: World, jobId: JobName): Promise<void> {
  if (!(await isThere(world, jobId))) return;
  for (const suspension of ["paused", "quarantined"] as const)
    await changeJob(world.context, jobId, { kind: "resume", suspension, by: "test" });
}

/** The storm is over: zombies say their last word, one node brings everything to an end. */
async function comeToRest(world: World, memory: Memory): Promise<void> {
  for (const zombie of world.zombies) {
    await zombie.beat();
    while (zombie.begunRuns > 0) await zombie.finish("ok");
    await checkInvariants(world, memory);
  }
  for (const place of [0, 1]) world.crash(place);
  for (let round = 0; round < 40; round++) {
    await world.advance(61 * SECOND);
    const node = await world.node(0);
    await node.recover();
    await world.sync();
    await node.pass();
    while (node.liveRuns > 0) {
      await node.start();
      while (node.begunRuns > 0) await node.finish("ok");
      await node.pass();
    }
    await checkInvariants(world, memory);
    if (
      round >= 3 &&
      (await world.sql(`SELECT "id" FROM "runs" WHERE "state" IN ('claimed','running','cancelling')`))
        .length === 0
    )
      return;
  }
  throw new Error("it does not come to rest");
}

/** A move that waits for anything but itself would hang the property without a word. */
async function within(ms: number, what: string, move: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), ms);
  });
  await Promise.race([move, late]).finally(() => clearTimeout(timer));
}

async function playAll(steps: readonly Step[], options: Parameters<typeof openWorld>[0]): Promise<void> {
  const world = await openWorld(options);
  const memory = makeMemory();
  try {
    for (const one of steps) {
      await within(HANG_MS, one.kind, play(world, memory, one));
      memory.hasPassed = one.kind === "pass";
      await checkInvariants(world, memory);
    }
    await comeToRest(world, memory);
    await expectAtRest(world, memory);
  } finally {
    await world.close();
  }
}

/** Two jobs to begin with, then anything. */
const history = fc
  .tuple(document, document, fc.array(step, { minLength: 10, maxLength: 45, size: "max" }))
  .map(([alpha, beta, steps]): Step[] => [
    { kind: "edit", job: "alpha", document: alpha },
    { kind: "edit", job: "beta", document: beta },
    { kind: "sync" },
    { kind: "wait", ms: 2 * SECOND },
    { kind: "sync" },
    ...steps,
  ]);

const HANG_MS = 8_000;
/** `{"seed":…,"path":"…"}` of a failure, to play it again. */
const replay = JSON.parse(process.env.NIGHTSHIFT_PROPERTY_REPLAY ?? "{}") as { seed?: number; path?: string };
const RUNS = Number(process.env.NIGHTSHIFT_PROPERTY_RUNS ?? 40);

/** Shrinking a failure plays hundreds of histories: it ends before the test's time does, with what it has found. */
const limitedTo = (ms: number) => ({ interruptAfterTimeLimit: ms, markInterruptAsFailure: true });

test("L2–L6, L9, T7, T8: for any history of two nodes the rules of the ledger hold and the audit is clean (SQLite)", {
  timeout: RUNS * 2_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(history, (steps) => playAll(steps, {})),
    { numRuns: RUNS, ...replay, ...limitedTo(RUNS * 1_500) },
  );
  expect(RUNS).toBeGreaterThan(0);
});

test.skipIf(!hasPostgres)(
  "L2–L6, L9, T7, T8: for any history of two nodes the rules of the ledger hold and the audit is clean (PostgreSQL) [needs postgres]",
  { timeout: 60_000 + RUNS * 500 },
  async () => {
    const postgres = await handDrivenPostgres();
    const numRuns = Math.ceil(RUNS / 8);
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        await postgres.empty();
        await playAll(steps, { postgresUrl: postgres.url });
      }),
      { numRuns, ...limitedTo(40_000 + RUNS * 450) },
    );
  },
);
