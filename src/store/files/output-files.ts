// The archive of what runs said: one file a run, `output/<jobId>/<20261129T060000Z>-<runId>.md` (U2).
//
// I1. A file is whole before the ledger names it; one that no row names is swept after an hour.
// I2. Names sort by time, so the newest are the last.

import { mkdir, readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { stringify } from "yaml";
import { Fault } from "../../kernel/errors.ts";
import { formatInstant, HOUR, type Instant } from "../../kernel/time.ts";
import { codeOf, syncFolder, writeFileAtomic } from "./atomic-write.ts";

/** @source SEMANTICS U2 */
const UNNAMED_MS = HOUR;

/** The folder below output/ of runs without a job. No job's id begins with `_`. */
export const JOBLESS_FOLDER = "_agent";

/** What the front matter says. `body` is redacted and bounded by the caller. */
export interface OutputRecord {
  /** Undefined for work that is no job's: its folder is `JOBLESS_FOLDER`. */
  jobId: string | undefined;
  runId: string;
  slot: Instant | undefined;
  createdAt: Instant;
  state: string;
  reason?: string | undefined;
  startedAt?: Instant | undefined;
  finishedAt?: Instant | undefined;
  exitCode?: number | undefined;
  isTruncated?: boolean | undefined;
  body: string;
}

/** What may lie beside an output: an agent's conversation, and its calls for a replay. */
export const BESIDE_KINDS = ["trajectory", "cassette"] as const;
export type BesideKind = (typeof BESIDE_KINDS)[number];

/** What the name of a run's files is made of. */
export type RunFileName = Pick<OutputRecord, "jobId" | "runId" | "slot" | "createdAt">;

export interface OutputFiles {
  /** Writes durably, mode 0600. Returns the path relative to the home, for `Run.outputFile`. Repeating it replaces the file. */
  write(record: OutputRecord): Promise<string>;
  /** Writes a file beside the run's output, mode 0600: its conversation, its recorded calls. Goes when the output goes. */
  writeBeside(record: RunFileName, kind: BesideKind, text: string): Promise<string>;
  /** A file beside an output file; undefined when there is none. */
  readBeside(outputFile: string, kind: BesideKind): Promise<string | undefined>;
  /** The file's text, front matter included; undefined when it is gone. Throws Fault `input.refused` outside `output/`. */
  read(file: string): Promise<string | undefined>;
  /** The same without its front matter. */
  readBody(file: string): Promise<string | undefined>;
  /** Removes files older than an hour (by `now`) that `known` does not name, and half-written ones. Returns what went. */
  sweep(known: (files: readonly string[]) => Promise<ReadonlySet<string>>, now: Instant): Promise<string[]>;
  /** Removes these files; those that are gone already are no error. */
  remove(files: readonly string[]): Promise<void>;
  /** Keeps the newest `count` files of a job (default 50). Returns what went. */
  keepNewest(jobId: string, count?: number): Promise<string[]>;
}

/** The archive below `<root>/output`. */
export function openOutputFiles(root: string): OutputFiles {
  const outputFolder = join(root, "output");
  return {
    async write(record) {
      const file = outputFileName(record);
      const folder = join(outputFolder, folderOf(record.jobId));
      // The folder's own entry must survive a power cut too.
      if (await mkdir(folder, { recursive: true, mode: 0o700 })) await syncFolder(outputFolder);
      await writeFileAtomic(join(root, file), formatOutput(record));
      return file;
    },
    async writeBeside(record, kind, text) {
      const file = besideName(outputFileName(record), kind);
      if (await mkdir(join(outputFolder, folderOf(record.jobId)), { recursive: true, mode: 0o700 }))
        await syncFolder(outputFolder);
      await writeFileAtomic(join(root, file), text);
      return file;
    },
    readBeside: (file, kind) => readText(root, besideName(file, kind)),
    read: (file) => readText(root, file),
    readBody: async (file) => (await readText(root, file))?.replace(/^---\n[\s\S]*?\n---\n/, ""),
    sweep: (known, now) => sweep(root, known, now),
    remove: (files) => removeAll(root, files),
    async keepNewest(jobId, count = 50) {
      const names = (await namesIn(join(outputFolder, safePart(jobId)))).filter((name) =>
        name.endsWith(".md"),
      );
      const old = names.slice(0, Math.max(0, names.length - count)).map((name) => `output/${jobId}/${name}`);
      await removeAll(root, old);
      return old;
    },
  };
}

async function readText(root: string, file: string): Promise<string | undefined> {
  try {
    return await readFile(pathIn(root, file), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The file of such a kind that lies beside an output file. */
export function besideName(outputFile: string, kind: BesideKind): string {
  return outputFile.replace(/\.md$/, `.${kind}.jsonl`);
}

/** Where a run's output goes, relative to the home. */
export function outputFileName(record: RunFileName): string {
  const stamp = formatStamp(record.slot ?? record.createdAt);
  return `output/${folderOf(record.jobId)}/${stamp}-${safePart(record.runId)}.md`;
}

/** `2026-11-29T06:00:00Z` → `20261129T060000Z`. */
function formatStamp(instant: Instant): string {
  return new Date(instant).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

function formatOutput(record: OutputRecord): string {
  const { startedAt, finishedAt } = record;
  const front = {
    job: record.jobId,
    run: record.runId,
    slot: instantText(record.slot),
    state: record.state,
    reason: record.reason,
    started: instantText(startedAt),
    finished: instantText(finishedAt),
    durationMs: startedAt === undefined || finishedAt === undefined ? undefined : finishedAt - startedAt,
    exitCode: record.exitCode,
    truncated: record.isTruncated ? true : undefined,
  };
  const present = Object.fromEntries(Object.entries(front).filter(([, value]) => value !== undefined));
  return `---\n${stringify(present, { lineWidth: 0 })}---\n${record.body}`;
}

function instantText(instant: Instant | undefined): string | undefined {
  return instant === undefined ? undefined : formatInstant(instant);
}

async function sweep(
  root: string,
  known: (files: readonly string[]) => Promise<ReadonlySet<string>>,
  now: Instant,
): Promise<string[]> {
  const old: string[] = [];
  for (const jobId of (await namesIn(join(root, "output"))).filter(isSafePart)) {
    for (const name of (await namesIn(join(root, "output", jobId))).filter(isOurs)) {
      const file = `output/${jobId}/${name}`;
      const stats = await stat(join(root, file)).catch(() => undefined);
      if (stats?.isFile() && now - stats.mtimeMs > UNNAMED_MS) old.push(file);
    }
  }
  const owners = [...new Set(old.map(ownerOf))];
  const named = owners.length === 0 ? new Set() : await known(owners);
  const unnamed = old.filter((file) => !named.has(ownerOf(file)));
  await removeAll(root, unnamed);
  return unnamed;
}

/** With all that lies beside them. */
async function removeAll(root: string, files: readonly string[]): Promise<void> {
  const all = new Set(files);
  for (const folder of new Set(files.map((file) => dirname(pathIn(root, file))))) {
    const gone = new Set(files.filter((file) => dirname(join(root, file)) === folder).map(ownerOf));
    for (const name of await namesIn(folder)) {
      const file = relative(root, join(folder, name));
      if (gone.has(ownerOf(file))) all.add(file);
    }
  }
  for (const file of all) {
    await unlink(pathIn(root, file)).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
    });
  }
}

/** Names in order; none when the folder is not there. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}

/** What the names of a run's files begin with: a run's id holds no dot. */
const STEM = /^((?:.*\/)?\d{8}T\d{6}Z-[^./]+)\..+$/;

/** The output file that a file lies beside; itself, if it is one. */
function ownerOf(file: string): string {
  return file.replace(STEM, "$1.md");
}

/**
 * An archived run, what lies beside it (a conversation, a file that was sent to `local`), or the temp file of one that was
 * being written; whatever else lies there is not ours to sweep.
 */
function isOurs(name: string): boolean {
  return STEM.test(name) || /^\..+\.(?:md|jsonl)\..+\.tmp$/.test(name);
}

function folderOf(jobId: string | undefined): string {
  return jobId === undefined ? JOBLESS_FOLDER : safePart(jobId);
}

function isSafePart(part: string): boolean {
  return part === JOBLESS_FOLDER || /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(part);
}

function safePart(part: string): string {
  if (isSafePart(part)) return part;
  throw new Fault("input.refused", `"${part}" cannot be part of a path`, {
    hint: "Use letters, digits, - and _.",
  });
}

function pathIn(root: string, file: string): string {
  const [folder, jobId = "", name = "", ...rest] = file.split("/");
  const isInside =
    folder === "output" && rest.length === 0 && !/^\.{0,2}$/.test(jobId) && !/^\.{0,2}$/.test(name);
  if (isInside && !file.includes("\\") && !file.includes("\0")) return join(root, file);
  throw new Fault("input.refused", `${file} is no output file of this home`, {
    hint: "Name a file below output/.",
  });
}
