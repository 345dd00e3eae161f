// Jobs as files of a home: `jobs/<id>.yaml`, owned by a person, read when they have come to rest.
//
// I1. A file counts once it has settled (settling.ts); dotfiles and editors' leavings never count (D2).
// I2. What exists and cannot be read is reported, never skipped and never touched.
// I3. A write compares digests and replaces the file whole; a removal keeps the bytes in `jobs/.trash/` (D3).

import type { BigIntStats } from "node:fs";
import { lstat, mkdir, readdir, realpath, rename, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault, messageOf } from "../../kernel/errors.ts";
import type { Clock, Instant } from "../../kernel/time.ts";
import { defaultJobId } from "../../records/job-document.ts";
import type { DefinitionSource, SourceEntry, UnreadableEntry } from "../../records/source.ts";
import { codeOf, createFileAtomic, syncFolder, writeFileAtomic } from "./atomic-write.ts";
import { type DefinitionText, digestOf, readDefinition } from "./definition-text.ts";
import type { HomePaths } from "./home.ts";
import { isJobFileName, jobFileSource, nameOfSource } from "./job-file-name.ts";
import { makeSettling, SETTLE_MS, type Settling, stampOf } from "./settling.ts";
import { watchFolder } from "./watch-folder.ts";

type Sighting =
  | { kind: "entry"; entry: SourceEntry }
  | { kind: "unreadable"; unreadable: UnreadableEntry }
  | { kind: "unsettled"; source: string; settlesAt: Instant }
  | { kind: "gone" };

interface JobFolder {
  jobsFolder: string;
  trashFolder: string;
  clock: Clock;
  settling: Settling;
  /** Texts by name, valid while the stamp is the same: a listing of a thousand files reads only what changed. */
  known: Map<string, { stamp: string; entry: SourceEntry }>;
}

/** Files looked at together: enough to keep the disk busy, few enough for the open-files limit. */
const LOOK_WIDTH = 64;

/** The definitions in a home's `jobs/` folder. Holds no handle but those of `watch`. */
export function openJobFiles(
  paths: Pick<HomePaths, "jobsFolder" | "trashFolder">,
  deps: { clock: Clock },
): DefinitionSource {
  const { jobsFolder, trashFolder } = paths;
  const { clock } = deps;
  const folder: JobFolder = {
    jobsFolder,
    trashFolder,
    clock,
    settling: makeSettling(clock),
    known: new Map(),
  };
  return {
    list: () => list(folder),
    read: (source) => read(folder, source),
    sourceFor: (jobId) => jobFileSource(`${jobId}.yaml`),
    write: (source, text, expectedDigest) => write(folder, { source, text, expectedDigest }),
    remove: (source, expectedDigest) => remove(folder, source, expectedDigest),
    watch: (listener) => watchFolder({ folder: jobsFolder, clock, accepts: isJobFileName, listener }),
  };
}

async function list(folder: JobFolder): ReturnType<DefinitionSource["list"]> {
  const found = await readdir(folder.jobsFolder).catch(() => undefined);
  if (!found) return { isReadable: false, entries: [], unreadable: [], unsettled: [], settlesAt: undefined };
  const names = found.filter(isJobFileName).sort();
  const present = new Set(names);
  folder.settling.keepOnly(present);
  for (const name of folder.known.keys()) if (!present.has(name)) folder.known.delete(name);
  const seen: Sighting[] = [];
  for (let at = 0; at < names.length; at += LOOK_WIDTH)
    seen.push(...(await Promise.all(names.slice(at, at + LOOK_WIDTH).map((name) => look(folder, name)))));
  const unsettled = seen.filter((sighting) => sighting.kind === "unsettled");
  return {
    isReadable: true,
    entries: seen.flatMap((sighting) => (sighting.kind === "entry" ? [sighting.entry] : [])),
    unreadable: seen.flatMap((sighting) => (sighting.kind === "unreadable" ? [sighting.unreadable] : [])),
    unsettled: unsettled.map(({ source }) => source),
    settlesAt: unsettled.length === 0 ? undefined : Math.min(...unsettled.map(({ settlesAt }) => settlesAt)),
  };
}

async function look(folder: JobFolder, name: string): Promise<Sighting> {
  const path = join(folder.jobsFolder, name);
  const before = await statOrWhy(path);
  if (before === undefined) return { kind: "gone" };
  if (typeof before === "string") return unreadable(name, before);
  if (!before.isFile()) return unreadable(name, "it is not a file");
  const stamp = stampOf(before);
  const remaining = folder.settling.remainingMs(name, before);
  if (remaining > 0) return unsettled(folder, name, remaining);
  const known = folder.known.get(name);
  if (known?.stamp === stamp) return { kind: "entry", entry: known.entry };
  const definition = await readDefinition(path);
  if (definition.kind === "missing") return { kind: "gone" };
  if (definition.kind === "unreadable") return unreadable(name, definition.error);
  const after = await statOrWhy(path);
  // It changed while it was read: what was read may be half of each.
  if (typeof after !== "object" || stampOf(after) !== stamp) return unsettled(folder, name, SETTLE_MS);
  const entry = entryOf(name, definition);
  folder.known.set(name, { stamp, entry });
  return { kind: "entry", entry };
}

/** Undefined = no such file; a text = why it cannot be looked at. A link that leads nowhere is the latter. */
async function statOrWhy(path: string): Promise<BigIntStats | string | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return messageOf(error);
    const link = await lstat(path).catch(() => undefined);
    return link ? "it is a link that leads nowhere" : undefined;
  }
}

function unreadable(name: string, error: string): Sighting {
  return {
    kind: "unreadable",
    unreadable: { source: jobFileSource(name), defaultId: defaultJobId(name), error },
  };
}

function unsettled(folder: JobFolder, name: string, remainingMs: number): Sighting {
  return { kind: "unsettled", source: jobFileSource(name), settlesAt: folder.clock.now() + remainingMs };
}

function entryOf(name: string, definition: { text: string; digest: string }): SourceEntry {
  const { text, digest } = definition;
  return { source: jobFileSource(name), defaultId: defaultJobId(name), digest, text };
}

/** As it stands now, settled or not. Throws Fault `job.unreadable` when it exists and cannot be read. */
async function read(folder: JobFolder, source: string): Promise<SourceEntry | undefined> {
  const name = nameOfSource(source);
  const definition = await readDefinition(join(folder.jobsFolder, name));
  if (definition.kind === "missing") return undefined;
  if (definition.kind === "text") return entryOf(name, definition);
  throw new Fault("job.unreadable", `${source} cannot be read: ${definition.error}`, {
    hint: "Correct the file or move it away; it was not touched.",
    place: { file: source },
  });
}

async function write(
  folder: JobFolder,
  request: { source: string; text: string; expectedDigest: string | undefined },
): ReturnType<DefinitionSource["write"]> {
  const { source, text, expectedDigest } = request;
  const name = nameOfSource(source);
  const path = join(folder.jobsFolder, name);
  if (expectedDigest === undefined) {
    if (!(await createFileAtomic(path, text)))
      return { kind: "conflict", actualDigest: digestIn(await readDefinition(path)) };
  } else {
    const actualDigest = digestIn(await readDefinition(path));
    if (actualDigest !== expectedDigest) return { kind: "conflict", actualDigest };
    // A link stays a link, and a mode the person chose stays theirs.
    const target = await realpath(path);
    await writeFileAtomic(target, text, (await stat(target)).mode & 0o777);
  }
  const digest = digestOf(text);
  const stats = await statOrWhy(path);
  if (typeof stats === "object") {
    folder.settling.trust(name, stats);
    folder.known.set(name, { stamp: stampOf(stats), entry: entryOf(name, { text, digest }) });
  }
  return { kind: "written", digest };
}

function digestIn(definition: DefinitionText): string | undefined {
  return definition.kind === "text" ? definition.digest : undefined;
}

async function remove(
  folder: JobFolder,
  source: string,
  expectedDigest: string,
): ReturnType<DefinitionSource["remove"]> {
  const name = nameOfSource(source);
  const path = join(folder.jobsFolder, name);
  if (digestIn(await readDefinition(path)) !== expectedDigest) return { kind: "conflict" };
  await mkdir(folder.trashFolder, { recursive: true, mode: 0o700 });
  const kept = await freeName(folder, name);
  await rename(path, join(folder.trashFolder, kept));
  await syncFolder(folder.trashFolder);
  await syncFolder(folder.jobsFolder);
  return { kind: "removed", keptAt: `jobs/${basename(folder.trashFolder)}/${kept}` };
}

/** `20261129T060000Z-disk-watch.yaml`, numbered when the same file is removed twice in a second. */
async function freeName(folder: JobFolder, name: string): Promise<string> {
  const stamp = new Date(folder.clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const taken = new Set(await readdir(folder.trashFolder));
  let kept = `${stamp}-${name}`;
  for (let count = 2; taken.has(kept); count++) kept = `${stamp}-${count}-${name}`;
  return kept;
}
