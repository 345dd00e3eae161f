import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JobDocument } from "../../src/records/job.ts";
import { reconcileJobFiles } from "../../src/store/files/reconcile.ts";
import { World } from "./reconcile-world.ts";

const worldOf = (...names: string[]) => {
  const world = new World();
  for (const name of names) world.put(name);
  world.pass();
  return world;
};
const idOf = (document: JobDocument) => document.id;

describe("reconciling job files", () => {
  test("D2: a dropped file becomes a job, an edited one a new version, and an unchanged one nothing at all", () => {
    const world = new World().put("disk");

    expect(world.pass()).toEqual(["define disk new"]);
    expect(world.pass()).toEqual([]);
    expect(world.put("disk", "run: other.sh\n").pass()).toEqual(["define disk changed"]);
    expect(world.known.get("disk")).toMatchObject({ version: 2, source: "jobs/disk.yaml" });
  });

  test("a file whose bytes the ledger knows is not even read", () => {
    const world = worldOf("a", "b", "c");
    world.reads = 0;

    world.pass();

    expect(world.reads).toBe(0);
  });

  test("D2: a missing file is a deletion after five seconds, not before, and coming back in time undoes it", () => {
    const world = worldOf("a", "b");
    world.remove("a");

    expect(world.pass()).toEqual([]);
    expect(world.result?.lookAgainInMs).toBe(5_000);
    expect(world.after(4_999).pass()).toEqual([]);
    expect(world.put("a").pass()).toEqual([]);
    expect(world.remove("a").after(4_999).pass()).toEqual([]);
    expect(world.after(4_999).pass()).toEqual([]);
    expect(world.result?.lookAgainInMs).toBe(1);
    expect(world.after(1).pass()).toEqual(["remove a"]);
    expect(world.pass()).toEqual([]);
  });

  test("D2: absence means nothing while the folder cannot be read, and the five seconds start anew afterwards", () => {
    const world = worldOf("a", "b");
    world.remove("a").pass();
    world.isReadable = false;

    expect(world.after(60_000).pass()).toEqual([]);
    expect(world.result?.lookAgainInMs).toBeUndefined();
    world.isReadable = true;
    expect(world.after(1).pass()).toEqual([]);
    expect(world.after(5_000).pass()).toEqual(["remove a"]);
  });

  test("T8: a step of the wall clock deletes nothing, since absence is measured on the monotonic clock", () => {
    const world = worldOf("a", "b");
    world.remove("a").pass();
    world.now += 86_400_000;

    expect(world.pass()).toEqual([]);
  });

  test("D2: when more than half and at least five vanish at once, all of them are held instead of removed", () => {
    const world = worldOf("a", "b", "c", "d", "e", "f", "g", "h", "i");
    world.remove("a", "b", "c", "d", "e");
    world.pass();

    expect(world.after(5_000).pass()).toEqual(["a", "b", "c", "d", "e"].map((id) => `hold ${id}: vanished`));
    expect(world.known.get("a")?.heldReason).toContain("5 of 9 job files disappeared at once");
    expect(world.after(60_000).pass()).toEqual([]);
    expect(world.put("a").pass()).toEqual(["unhold a"]);
    // Fewer than five are missing now, but they went with the others and stay held.
    expect(world.after(60_000).pass()).toEqual([]);
    expect([...world.known.values()].filter((job) => job.isRemoved)).toEqual([]);
  });

  test("D2: exactly half, or four of five, are ordinary deletions", () => {
    const half = worldOf("a", "b", "c", "d", "e", "f", "g", "h", "i", "j");
    half.remove("a", "b", "c", "d", "e").pass();
    expect(half.after(5_000).pass()).toHaveLength(5);
    expect([...half.known.values()].filter((job) => job.isRemoved)).toHaveLength(5);

    const four = worldOf("a", "b", "c", "d", "e");
    four.remove("a", "b", "c", "d").pass();
    expect(four.after(5_000).pass()).toEqual(["remove a", "remove b", "remove c", "remove d"]);
  });

  test("D2: files that vanish within the same five seconds count as at once", () => {
    const world = worldOf("a", "b", "c", "d", "e", "f");
    world.remove("a", "b").pass();
    world.after(3_000).remove("c", "d", "e").pass();

    expect(world.after(2_000).pass()).toEqual(["hold a: vanished", "hold b: vanished"]);
    expect(world.after(3_000).pass()).toEqual(["hold c: vanished", "hold d: vanished", "hold e: vanished"]);
  });

  test("D2: two files with one id: the path known first keeps it, the other is held", () => {
    const world = worldOf("disk");
    world.put("aaa", "id: disk\nrun: x.sh\n");

    expect(world.pass()).toEqual(["hold disk (unknown): duplicate"]);
    expect(world.known.get("disk")).toMatchObject({ source: "jobs/disk.yaml", heldReason: undefined });
    expect(world.result?.held.get("jobs/aaa.yaml")?.reason).toBe(
      "duplicate: the id disk belongs to jobs/disk.yaml",
    );
    expect(world.pass()).toEqual([]);
  });

  test("D2: a job whose file takes another job's id is held itself", () => {
    const world = worldOf("a", "b");
    world.put("b", "id: a\nrun: x.sh\n");

    expect(world.pass()).toEqual(["hold b: duplicate"]);
    expect(world.known.get("a")?.heldReason).toBeUndefined();
    expect(world.put("b").pass()).toEqual(["unhold b"]);
  });

  test("D2: a file that founded two jobs by changing its id holds both when it breaks, and each by itself", () => {
    const world = worldOf("f", "c");
    world.put("f", "id: a\nrun: z.sh\n");
    expect(world.pass()).toEqual(["define a new"]);

    world.put("f", "id: c\nrun: z.sh\n");
    expect(world.pass()).toEqual(["hold f: duplicate", "hold a: duplicate"]);
    expect(world.pass()).toEqual([]);
    // The one gets a file of its own; the other stays held, and is not found anew.
    expect(world.put("a").pass()).toEqual(["define a changed", "unhold a"]);
    expect(world.pass()).toEqual([]);
    expect(world.known.get("f")?.heldReason).toContain("belongs to jobs/c.yaml");
  });

  test("D2: the known path keeps its id while it is broken or being saved", () => {
    const world = worldOf("disk");
    world.put("copy", "id: disk\nrun: x.sh\n").put("disk", "run: [");
    expect(world.pass()).toEqual(["hold disk: invalid", "hold disk (unknown): duplicate"]);

    world.put("disk").unsettled.add("jobs/disk.yaml");
    expect(world.pass()).toEqual([]);
  });

  test("D2: a vanished and an appeared file with equal content and no id of their own are a rename", () => {
    const world = worldOf("old", "other");
    world.remove("old").put("new", "run: old.sh\n");

    expect(world.pass()).toEqual(["move old jobs/old.yaml → jobs/new.yaml"]);
    expect(world.after(60_000).pass()).toEqual([]);
    // From now on the path stands for the id, also when its content changes.
    expect(world.put("new", "run: newer.sh\n").pass()).toEqual(["define old changed"]);
  });

  test("D2: a moved file that names its id is the same job under another path, changed or not", () => {
    const world = new World().put("a", "id: disk\nrun: x.sh\n");
    world.pass();

    expect(world.remove("a").put("b", "id: disk\nrun: x.sh\n").pass()).toEqual([
      "move disk jobs/a.yaml → jobs/b.yaml",
    ]);
    expect(world.remove("b").put("c", "id: disk\nrun: y.sh\n").pass()).toEqual(["define disk changed"]);
    expect(world.after(60_000).pass()).toEqual([]);
  });

  test("D2: a copy beside the original is a job of its own, not a rename", () => {
    expect(worldOf("a").put("b", "run: a.sh\n").pass()).toEqual(["define b new"]);
  });

  test("D2: a renamed folder of files moves every job, and none is lost or held", () => {
    const world = worldOf("a", "b", "c", "d", "e", "f");
    for (const name of ["a", "b", "c", "d", "e", "f"])
      world.remove(name).put(`x-${name}`, `run: ${name}.sh\n`);

    expect(world.pass()).toEqual(
      ["a", "b", "c", "d", "e", "f"].map((id) => `move ${id} jobs/${id}.yaml → jobs/x-${id}.yaml`),
    );
  });

  test("D4: an invalid or unreadable file holds its job with the reason, others go on, and correcting it lifts the hold", () => {
    const world = worldOf("a", "b");
    world.put("a", "run: x.sh\ntiemout: 5m\n");

    expect(world.pass()).toEqual(["hold a: invalid"]);
    expect(world.known.get("a")?.heldReason).toContain(
      'jobs/a.yaml:2:1: unknown key "tiemout"; did you mean "timeout"?',
    );
    expect(world.pass()).toEqual([]);
    world.unreadable.set("jobs/a.yaml", "it is not UTF-8 text");
    expect(world.pass()).toEqual(["hold a: unreadable"]);
    world.unreadable.clear();
    expect(world.put("a").pass()).toEqual(["unhold a"]);
    expect(world.put("a", "run: [").pass()).toEqual(["hold a: invalid"]);
    expect(world.put("a", "run: y.sh\n").pass()).toEqual(["define a changed", "unhold a"]);
  });

  test("a broken file that was never a job is said once per reason and holds nothing", () => {
    const world = new World().put("x", "run: [");

    expect(world.pass()).toEqual(["hold x (unknown): invalid"]);
    expect(world.pass()).toEqual([]);
    expect(world.result?.held.get("jobs/x.yaml")?.jobId).toBe("x");
    expect(world.put("x", "- a").pass()).toEqual(["hold x (unknown): invalid"]);
    expect(world.put("x").pass()).toEqual(["define x new"]);
  });

  test("a file that is being saved is neither missing nor judged, however long it takes", () => {
    const world = worldOf("a", "b");
    world.unsettled.add("jobs/a.yaml");

    expect(world.pass()).toEqual([]);
    expect(world.result?.lookAgainInMs).toBe(700);
    expect(world.after(60_000).pass()).toEqual([]);
  });

  test("D3: an old copy written back later is a new file, seen and reported as such", () => {
    const world = worldOf("a", "b");
    world.remove("a").pass();
    world.after(5_000).pass();

    expect(world.put("a").pass()).toEqual(["define a returned"]);
    expect(world.known.get("a")).toMatchObject({ isRemoved: false, version: 2 });
  });

  test("T3: a dropped file with a past instant that no row knows is held with that reason; a known one is not", () => {
    const world = new World().put("late");
    world.pastIds = ["late"];

    expect(world.pass()).toEqual(["hold late (unknown): its time has already passed"]);
    expect(world.pass()).toEqual([]);
    world.pastIds = [];
    world.put("late", "run: again.sh\n").pass();
    world.pastIds = ["late"];
    expect(world.put("late", "run: third.sh\n").pass()).toEqual(["define late changed"]);
  });

  test("a file that changes its id leaves one job and founds another", () => {
    const world = worldOf("a", "b");
    world.put("a", "id: c\nrun: a.sh\n");

    expect(world.pass()).toEqual(["define c new"]);
    expect(world.after(5_000).pass()).toEqual(["remove a"]);
    expect(world.after(5_000).pass()).toEqual([]);
  });

  test("jobs whose definitions are rows of a table are left alone", () => {
    const world = worldOf("a");
    world.known.set("t", {
      jobId: "t",
      source: "table/t",
      digest: "x",
      version: 1,
      isRemoved: false,
      heldReason: undefined,
    });

    expect(world.after(60_000).pass()).toEqual([]);
  });

  test("a definition carries what app/ records: the entry, the document and the version it replaces", () => {
    const world = worldOf("a");
    world.put("a", "run: y.sh\n");

    const [action] = reconcileJobFiles(world.input()).actions;

    if (action?.kind !== "define") throw new Error("no definition");
    expect(action).toMatchObject({ version: 1, entry: { text: "run: y.sh\n" }, source: "jobs/a.yaml" });
    expect(idOf(action.reading.document)).toBe("a");
  });
});

describe("reconciling, for any history of a folder", () => {
  const name = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
  const path = (file: string) => `jobs/${file}.yaml`;
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.tuple(
        fc.constant("put"),
        name,
        fc.constantFrom("run: x.sh\n", "run: y.sh\n", "run: [", "id: a\nrun: z.sh\n", "id: c\nrun: z.sh\n"),
      ),
    },
    { weight: 3, arbitrary: fc.tuple(fc.constant("remove"), name, name) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("rename"), name, name) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("wait"), fc.nat(6_000), name) },
    {
      weight: 1,
      arbitrary: fc.tuple(
        fc.constantFrom("unsettle", "settle", "break", "mend", "lock", "unlock"),
        name,
        name,
      ),
    },
  );
  const take = (world: World, [kind, first, second]: [string, string | number, string]) => {
    const source = path(String(first));
    const text = world.files.get(source);
    if (kind === "put") world.put(String(first), second);
    else if (kind === "remove") world.remove(String(first));
    else if (kind === "wait") world.after(Number(first));
    else if (kind === "rename" && text !== undefined) world.remove(String(first)).put(second, text);
    else if (kind === "unsettle" && text !== undefined) world.unsettled.add(source);
    else if (kind === "break" && text !== undefined) world.unreadable.set(source, "junk");
    else if (kind === "settle") world.unsettled.clear();
    else if (kind === "mend") world.unreadable.clear();
    else if (kind === "lock" || kind === "unlock") world.isReadable = kind === "unlock";
    for (const known of [...world.unsettled, ...world.unreadable.keys()])
      if (!world.files.has(known)) {
        world.unsettled.delete(known);
        world.unreadable.delete(known);
      }
    for (const both of world.unsettled) world.unreadable.delete(both);
  };

  test("a second look gives nothing new, no file is forgotten, and nothing present or young is removed", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const world = new World();
        // When a pass last saw a job's own file: there in whatever state, and not another job's by now.
        const stoodAt = new Map<string, number>();
        for (const entry of steps) {
          take(world, entry as [string, string | number, string]);
          const before = new Map(world.known);
          const words = world.pass();

          expect(world.pass(), `after ${words}`).toEqual([]);
          for (const [jobId, job] of world.known) {
            const previous = before.get(jobId);
            if (!job.isRemoved || !previous || previous.isRemoved) continue;
            const goneMs = world.monotonicMs - (stoodAt.get(jobId) ?? 0);
            expect(goneMs, `${jobId} removed too early`).toBeGreaterThanOrEqual(5_000);
          }
          if (!world.isReadable) continue;
          const alive = [...world.known.values()].filter((job) => !job.isRemoved);
          for (const job of alive)
            if (
              world.files.has(job.source) &&
              alive.every((other) => other === job || other.source !== job.source)
            )
              stoodAt.set(job.jobId, world.monotonicMs);
          for (const source of world.files.keys())
            expect(
              alive.some((job) => job.source === source) ||
                world.result?.held.has(source) ||
                world.unsettled.has(source),
              `${source} is forgotten`,
            ).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
