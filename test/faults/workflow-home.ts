// A home to break with workflows in it: every task writes down that it began, and the proof that journal, rows and those
// deeds tell the same story afterwards.
//
// I1. A deed is one append of one line, the first thing a task does: what it did is on record whatever comes next.
// I2. Tasks whose name begins with `free` are functions without effects: only they may be repeated before their end is on
//     record (law 4).

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { RunDocument } from "../../src/app/documents.ts";
import { readJournal } from "../../src/app/workflows/journal.ts";
import {
  hasEnded,
  type JournalEntry,
  type UnitState,
  unitParts,
} from "../../src/orchestrate/graph/progress.ts";
import { expectWhole, type FaultHome, faultHome, type HomeOptions, query, untilTrue } from "./fault-home.ts";

export interface TaskDeed {
  run: string;
  unit: string;
  attempt: number;
  key: string;
}

export interface TaskRow {
  id: string;
  parentId: string | null;
  unit: string;
  attempt: number;
  state: string;
  reason: string | null;
  owner: string | null;
  startedAt: number | null;
  idempotencyKey: string;
}

export interface WorkflowHome extends FaultHome {
  /** One line `run unit attempt key` for every attempt that began, in order. */
  taskDeeds(): Promise<TaskDeed[]>;
  /** The lines of one run as `unit#attempt`. */
  done(): Promise<string[]>;
  workflow(name: string, yaml: string): Promise<void>;
  executor(file: string, text: string): Promise<void>;
  /** Queues a run for a node that is up; returns its id. */
  submit(name: string, params?: Record<string, unknown>): Promise<string>;
  show(runId: string): Promise<RunDocument>;
}

/** A command that writes its deed down and then does `rest`. `unit` may hold a template. */
export function deed(unit: string, rest = ":"): string {
  return `printf '%s %s %s %s\\n' "$NIGHTSHIFT_PARENT_ID" "${unit}" "$NIGHTSHIFT_ATTEMPT" "$NIGHTSHIFT_IDEMPOTENCY_KEY" >> "$TASKS"; ${rest}`;
}

/** What a first attempt does when its node is to be killed amid it. */
export const HANGS_ONCE = '[ "$NIGHTSHIFT_ATTEMPT" != 1 ] || sleep 300';

/** The same two in Python, as the executors `deed` and `hangs_once`; both are safe to repeat. */
export const PYTHON_DEEDS = `"""Tasks that write down that they began."""
import os
import time
import nightshift


def deed(unit: str, seconds: float = 0) -> dict:
    """Write it down.

    nightshift: effects=idempotent timeout=600
    """
    call = nightshift.call()
    with open(os.environ["TASKS"], "a") as deeds:
        deeds.write(f"{os.environ['NIGHTSHIFT_PARENT_ID']} {unit} {call['attempt']} {call['idempotency_key']}\\n")
    time.sleep(seconds)
    return {"unit": unit}


def hangs_once(unit: str) -> dict:
    """Write it down, and hang the first time.

    nightshift: effects=idempotent timeout=600
    """
    return deed(unit, 300 if nightshift.call()["attempt"] == 1 else 0)
`;

/** A function of the node, without effects: its ends are recorded together. */
export const FREE_FUNCTION = `import { defineExecutor } from "nightshift";
export default defineExecutor({ name: "free", effects: "none", run: ({ n }) => ({ n: n + 1 }) });
`;

export async function workflowHome(options: HomeOptions = {}): Promise<WorkflowHome> {
  const home = await faultHome(options);
  const tasksFile = join(home.path, "tasks.txt");
  await writeFile(tasksFile, "");
  for (const folder of ["workflows", "executors"]) await mkdir(join(home.path, folder), { mode: 0o700 });
  const taskDeeds = async () =>
    (await readFile(tasksFile, "utf8"))
      .split("\n")
      .slice(0, -1)
      .map((line): TaskDeed => {
        const [run = "", unit = "", attempt = "", key = ""] = line.split(" ");
        return { run, unit, attempt: Number(attempt), key };
      });
  return {
    ...home,
    taskDeeds,
    done: async () => (await taskDeeds()).map(({ unit, attempt }) => `${unit}#${attempt}`),
    workflow: (name, yaml) =>
      writeFile(
        join(home.path, "workflows", `${name}.yaml`),
        `env: {DEEDS: ${JSON.stringify(home.deedsFile)}, TASKS: ${JSON.stringify(tasksFile)}}\n${yaml}`,
      ),
    executor: (file, text) => writeFile(join(home.path, "executors", file), text),
    async submit(name, params = {}) {
      const { code, stdout, stderr } = await home.cli(
        "workflow",
        "run",
        name,
        "--params",
        JSON.stringify(params),
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return (JSON.parse(stdout) as RunDocument).id;
    },
    show: async (runId) => JSON.parse((await home.cli("run", "show", runId)).stdout),
  };
}

/** Every row that belongs to a workflow or is one, oldest first. */
export async function taskRows(home: Pick<FaultHome, "store">, where = "true"): Promise<TaskRow[]> {
  const rows = await query(
    home,
    `SELECT "id", "parentId", "dedupeKey", "attempt", "state", "reason", "owner", "startedAt", "idempotencyKey" FROM "runs"
     WHERE ("parentId" IS NOT NULL OR "kind" = 'workflow') AND ${where} ORDER BY "id"`,
  );
  return rows.map((row) => ({
    ...(row as unknown as TaskRow),
    unit: row.parentId === null ? "" : String(row.dedupeKey).split("/").slice(2).join("/"),
    attempt: Number(row.attempt),
    startedAt: row.startedAt === null ? null : Number(row.startedAt),
  }));
}

/** Waits for a row of a unit in one of these states. */
export async function untilUnit(home: FaultHome, unit: string, ...states: string[]): Promise<TaskRow> {
  let found: TaskRow | undefined;
  await untilTrue(
    `${unit} is ${states.join(" or ")}`,
    async () => {
      found = (await taskRows(home)).find((row) => row.unit === unit && states.includes(row.state));
      return found !== undefined;
    },
    30_000,
  );
  return found as TaskRow;
}

/** Waits until every run of a workflow has ended. */
export async function untilEnded(home: FaultHome, ms = 60_000): Promise<void> {
  await untilTrue(
    "every workflow has ended",
    async () => (await query(home, `SELECT "id" FROM "runs" WHERE "finishedAt" IS NULL`)).length === 0,
    ms,
  );
}

/** `expectWhole`, and for each run of a workflow: its journal, its rows and its deeds agree. */
export async function expectWorkflowsWhole(home: WorkflowHome, hint = "") {
  const whole = await expectWhole(home, hint);
  const deeds = await home.taskDeeds();
  const rows = await taskRows(home);
  const runs = await query(home, `SELECT "id", "state" FROM "runs" WHERE "kind" = 'workflow' ORDER BY "id"`);
  for (const run of runs) {
    const id = String(run.id);
    const of = {
      rows: rows.filter(({ parentId }) => parentId === id),
      deeds: deeds.filter((one) => one.run === id),
    };
    await expectRunTold(home, { id, state: String(run.state), ...of }, `${hint} run ${id}`);
  }
  return { ...whole, taskRows: rows, taskDeeds: deeds, workflows: runs.length };
}

interface RunFacts {
  id: string;
  state: string;
  rows: readonly TaskRow[];
  deeds: readonly TaskDeed[];
}

async function expectRunTold(
  home: FaultHome,
  { id, state, rows, deeds }: RunFacts,
  hint: string,
): Promise<void> {
  const texts = await query(
    home,
    `SELECT "entry" FROM "journal" WHERE "runId" = '${id}' ORDER BY "sequence"`,
  );
  const journal = readJournal(texts.map(({ entry }) => String(entry)));
  if (!journal) {
    expect({ rows, deeds }, `nothing happened before the beginning was recorded ${hint}`).toEqual({
      rows: [],
      deeds: [],
    });
    return;
  }
  const { progress, entries, beginning } = journal;
  expect(progress.ended?.state, `journal and row of the run agree ${hint}`).toBe(state);
  expectUnitsAgree(progress.units, rows, hint);
  expectDeedsAgree({ rows, deeds, entries }, hint);
  for (const { id: task, dependsOn } of beginning.document.tasks)
    for (const need of [dependsOn ?? []].flat()) expectAfter(deeds, { task, need }, hint);
}

/** Law 1: every unit that ended has a row, and its newest one says the same as the journal. */
function expectUnitsAgree(
  units: ReadonlyMap<string, UnitState>,
  rows: readonly TaskRow[],
  hint: string,
): void {
  expect(
    rows.filter(({ unit }) => !units.has(unit)).map(({ unit }) => unit),
    `rows that the journal does not know ${hint}`,
  ).toEqual([]);
  for (const [unit, standing] of units) {
    // A list of items is told by the items.
    if (standing.items !== undefined) continue;
    const own = rows.filter((row) => row.unit === unit).sort((a, b) => a.attempt - b.attempt);
    expect(hasEnded(standing), `${unit} ended ${hint}`).toBe(true);
    expect(
      own.map(({ attempt }) => attempt),
      `attempts of ${unit} ${hint}`,
    ).toEqual(own.map((_, index) => index + 1));
    const [newest] = own.slice(-1);
    const isPersons = standing.reason?.startsWith("by ") === true;
    if (!isPersons) expect(newest?.state, `newest row of ${unit} ${hint}`).toBe(standing.standing);
    const done = own.findIndex((row) => row.state === "succeeded");
    if (done >= 0)
      expect(own.slice(done + 1), `${unit} ran again after it had succeeded ${hint}`).toEqual([]);
  }
}

/** L3, L6: what began has a row that says so; nothing began twice but by a new attempt with the same key. */
function expectDeedsAgree(
  { rows, deeds, entries }: Pick<RunFacts, "rows" | "deeds"> & { entries: readonly JournalEntry[] },
  hint: string,
): void {
  const rowOf = new Map(rows.map((row) => [`${row.unit}#${row.attempt}`, row]));
  const attempts = deeds.map(({ unit, attempt }) => `${unit}#${attempt}`);
  expect(
    attempts.filter((one, index) => attempts.indexOf(one) !== index),
    `attempts that began twice ${hint}`,
  ).toEqual([]);
  for (const { unit, attempt, key } of deeds) {
    const row = rowOf.get(`${unit}#${attempt}`);
    expect(row?.startedAt, `${unit}#${attempt} began, so its row says so ${hint}`).toEqual(
      expect.any(Number),
    );
    expect(key, `one key for every attempt of ${unit} ${hint}`).toBe(row?.idempotencyKey);
  }
  const keys = new Map(rows.map(({ unit, idempotencyKey }) => [unit, idempotencyKey]));
  for (const { unit, idempotencyKey } of rows)
    expect(idempotencyKey, `key of ${unit} ${hint}`).toBe(keys.get(unit));
  const external = deeds.filter(({ unit }) => unit.startsWith("mail"));
  for (const unit of new Set(external.map((one) => one.unit))) {
    const asked = entries.filter((one) => one.kind === "resolved" && one.unit === unit && one.as === "rerun");
    const began = external.filter((one) => one.unit === unit);
    expect(
      began.length,
      `${unit} is external: it begins again only by a person's word ${hint}`,
    ).toBeLessThanOrEqual(1 + asked.length);
  }
}

/** A task begins after everything that it needs has begun for the last time. */
function expectAfter(
  deeds: readonly TaskDeed[],
  { task, need }: { task: string; need: string },
  hint: string,
): void {
  const of = (name: string) =>
    deeds.flatMap(({ unit }, index) => (unitParts(unit).task === name ? [index] : []));
  const [first] = of(task);
  const [last] = of(need).slice(-1);
  if (first !== undefined && last !== undefined)
    expect(first, `${task} began before ${need} had ended ${hint}`).toBeGreaterThan(last);
}
