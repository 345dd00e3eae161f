import { describe, expect, test } from "vitest";
import type { JobDocument } from "../../src/records/job.ts";
import { parseJobDocument } from "../../src/records/job-document.ts";
import type { SourceEntry } from "../../src/records/source.ts";
import { digestOf } from "../../src/store/files/definition-text.ts";
import {
  type EntryReading,
  type KnownJob,
  type ReconcileAction,
  type ReconcileInput,
  type ReconcileResult,
  reconcileJobFiles,
} from "../../src/store/files/reconcile.ts";

/** A folder and a ledger as values; `pass` reconciles, applies the actions as app/ does, and advances time. */
class World {
  readonly files = new Map<string, string>();
  readonly unreadable = new Map<string, string>();
  readonly unsettled = new Set<string>();
  readonly known = new Map<string, KnownJob>();
  isReadable = true;
  now = Date.parse("2026-11-29T12:00:00Z");
  monotonicMs = 0;
  pastIds: string[] = [];
  result: ReconcileResult | undefined;
  reads = 0;

  put(name: string, text = `run: ${name}.sh\n`): this {
    this.files.set(`jobs/${name}.yaml`, text);
    return this;
  }
  remove(...names: string[]): this {
    for (const name of names) this.files.delete(`jobs/${name}.yaml`);
    return this;
  }
  after(ms: number): this {
    this.now += ms;
    this.monotonicMs += ms;
    return this;
  }
  input(): ReconcileInput {
    const entries = [...this.files].map(
      ([source, text]): SourceEntry => ({
        source,
        defaultId: source.slice(5, -5),
        digest: digestOf(text),
        text,
      }),
    );
    return {
      listing: {
        isReadable: this.isReadable,
        entries: this.isReadable
          ? entries.filter(({ source }) => !this.unsettled.has(source) && !this.unreadable.has(source))
          : [],
        unreadable: [...this.unreadable].map(([source, error]) => ({
          source,
          defaultId: source.slice(5, -5),
          error,
        })),
        unsettled: [...this.unsettled],
        settlesAt: this.unsettled.size > 0 ? this.now + 700 : undefined,
      },
      known: this.known,
      previous: this.result,
      now: this.now,
      monotonicMs: this.monotonicMs,
      read: (entry, defaultId): EntryReading => {
        this.reads++;
        try {
          return { kind: "valid", ...parseJobDocument(entry.text, { file: entry.source, defaultId }) };
        } catch (error) {
          return { kind: "invalid", error: (error as Error).message };
        }
      },
      isPastUnknown: ({ document }) => this.pastIds.includes(document.id),
    };
  }
  /** One pass; returns the actions as short words. */
  pass(): string[] {
    this.result = reconcileJobFiles(this.input());
    for (const action of this.result.actions) this.apply(action);
    return this.result.actions.map(wordOf);
  }
  apply(action: ReconcileAction): void {
    const job = this.known.get(action.jobId);
    const update = (changes: Partial<KnownJob>) =>
      job && this.known.set(action.jobId, { ...job, ...changes });
    if (action.kind === "define") {
      const { jobId, source, entry } = action;
      const version = (job?.version ?? 0) + 1;
      this.known.set(jobId, {
        jobId,
        source,
        digest: entry.digest,
        version,
        isRemoved: false,
        heldReason: job?.heldReason,
      });
    } else if (action.kind === "move") update({ source: action.source });
    else if (action.kind === "hold" && action.isKnown) update({ heldReason: action.reason });
    else if (action.kind === "unhold") update({ heldReason: undefined });
    else if (action.kind === "remove") update({ isRemoved: true, heldReason: undefined });
  }
}

function wordOf(action: ReconcileAction): string {
  if (action.kind === "define") return `define ${action.jobId} ${action.was}`;
  if (action.kind === "move") return `move ${action.jobId} ${action.from} → ${action.source}`;
  if (action.kind === "hold")
    return `hold ${action.jobId}${action.isKnown ? "" : " (unknown)"}: ${action.reason.split(":")[0]}`;
  return `${action.kind} ${action.jobId}`;
}

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
