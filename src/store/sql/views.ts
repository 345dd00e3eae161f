// Reading jobs' views: definition in force, cursor with open suspensions, open runs.

import { formatInstant, type Instant } from "../../kernel/time.ts";
import type { Definition, Suspension } from "../../records/definition.ts";
import type { JobView, OpenRun } from "../../records/ledger/slots.ts";
import type { Run } from "../../records/run.ts";
import { columnList, DEFINITION, decode, decodeCursor, decodeDefinition, SUSPENSION } from "./codecs.ts";
import type { Columns } from "./columns.ts";
import type { Row, SqlValue, Statements } from "./connection.ts";
import type { Dialect } from "./dialect.ts";
import { isOpen } from "./endings.ts";

const CURSOR_COLUMNS = `c."jobId" AS "jobId", c."version" AS "version", c."revision", c."nextSlot", c."dueAt", c."startedSlots", c."failures", c."cause", c."isAlerted", c."strikes", c."removedAt", c."accountedAhead"`;
const JOB_KEY: Columns = { jobId: "text" };

type Reader = Statements & { dialect: Dialect };

/** Views of the cursors that `where` selects (alias `c`), in the order it gives. `lock` ends the first SELECT. */
export async function readViews(
  reader: Reader,
  where: string,
  params: readonly SqlValue[],
  lock = "",
): Promise<JobView[]> {
  const cursors = await reader.all(`SELECT ${CURSOR_COLUMNS} FROM "cursors" AS c ${where}${lock}`, params);
  if (cursors.length === 0) return [];
  const keys = reader.dialect.encodeRows(JOB_KEY, cursors);
  const suspensions = await readOpenSuspensions(reader, keys);
  const openRuns = await readOpenRuns(reader, keys);
  const definitions = await readDefinitions(reader, cursors as { jobId: string; version: number }[]);
  const views: JobView[] = [];
  for (const row of cursors) {
    const cursor = decodeCursor(row, suspensions.get(String(row.jobId)) ?? []);
    const definition = definitions.get(definitionKey(cursor.jobId, cursor.version));
    if (!definition) continue;
    views.push({ definition, cursor, openRuns: openRuns.get(cursor.jobId) ?? [], ...accountedAhead(row) });
  }
  return views;
}

function accountedAhead({ accountedAhead: text }: Row): Pick<JobView, "accountedAhead"> {
  return typeof text === "string" ? { accountedAhead: JSON.parse(text) as Instant[] } : {};
}

/** One job's view, or undefined. */
export async function readView(reader: Reader, jobId: string, lock = ""): Promise<JobView | undefined> {
  return (await readViews(reader, `WHERE c."jobId" = ?`, [jobId], lock))[0];
}

function groupByJob<Noun>(rows: readonly Row[], make: (row: Row) => Noun): Map<string, Noun[]> {
  const groups = new Map<string, Noun[]>();
  for (const row of rows) {
    const jobId = String(row.jobId);
    const group = groups.get(jobId);
    if (group) group.push(make(row));
    else groups.set(jobId, [make(row)]);
  }
  return groups;
}

async function readOpenSuspensions(reader: Reader, keys: string): Promise<Map<string, Suspension[]>> {
  const rows = await reader.all(
    `SELECT ${columnList(SUSPENSION, "s")} FROM ${reader.dialect.rows("x", JOB_KEY)} JOIN "suspensions" AS s ON s."jobId" = x."jobId" WHERE s."to" IS NULL ORDER BY s."from"`,
    [keys],
  );
  return groupByJob(rows, (row) => decode<Suspension>(SUSPENSION, row));
}

const OPEN_RUN = {
  id: "text",
  state: "text",
  reason: "text",
  slot: "int",
  attempt: "int",
  trigger: "text",
  createdAt: "int",
  startedAt: "int",
} as const satisfies Record<keyof OpenRun, string>;

async function readOpenRuns(reader: Reader, keys: string): Promise<Map<string, OpenRun[]>> {
  const rows = await reader.all(
    `SELECT r."jobId", ${columnList(OPEN_RUN, "r")} FROM ${reader.dialect.rows("x", JOB_KEY)} JOIN "runs" AS r ON r."jobId" = x."jobId" WHERE ${isOpen("r")} ORDER BY r."createdAt", r."id"`,
    [keys],
  );
  return groupByJob(rows, (row) => decode<OpenRun>(OPEN_RUN, row));
}

export function definitionKey(jobId: string, version: number): string {
  return `${version}/${jobId}`;
}

const DEFINITION_KEY: Columns = { jobId: "text", version: "int" };

/** The definitions that runs or cursors name, by `definitionKey`. */
export async function readDefinitions(
  reader: Reader,
  named: readonly { jobId: string | undefined; version: number | undefined }[],
): Promise<Map<string, Definition>> {
  const wanted = new Map<string, { jobId: string; version: number }>();
  for (const { jobId, version } of named) {
    if (jobId !== undefined && version !== undefined)
      wanted.set(definitionKey(jobId, version), { jobId, version });
  }
  if (wanted.size === 0) return new Map();
  const rows = await reader.all(
    `SELECT ${columnList(DEFINITION, "d")} FROM ${reader.dialect.rows("x", DEFINITION_KEY)} JOIN "definitions" AS d ON d."jobId" = x."jobId" AND d."version" = x."version"`,
    [reader.dialect.encodeRows(DEFINITION_KEY, [...wanted.values()])],
  );
  return new Map(
    rows
      .map(decodeDefinition)
      .map((definition) => [definitionKey(definition.jobId, definition.version), definition]),
  );
}

/** The definition a run was planned with, if it is a job's. */
export function definitionOf(
  definitions: ReadonlyMap<string, Definition>,
  run: Pick<Run, "jobId" | "version">,
): Definition | undefined {
  if (run.jobId === undefined || run.version === undefined) return undefined;
  return definitions.get(definitionKey(run.jobId, run.version));
}

/** The dedupe key of a slot (L2). */
export function slotKey(jobId: string, slot: Instant): string {
  return `job/${jobId}/${formatInstant(slot)}`;
}
