// A folder of this machine brought into an environment, and what changed there brought back (upstream.md 1.11).
//
// I1. Only what differs travels (size, seconds, mode; on the way back also sha256), by tar through the command's pipes.
// I2. In: what lies there and not here is deleted only if an earlier sync brought it.
// I3. Back: a file that was changed here meanwhile stays as it is here, and is named. Nothing is written through a link,
//     outside the folder, or under an excluded name, whatever the other side sends; a file appears whole or not at all.

import { createHash } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { CommandResult, Environment } from "../../records/environment.ts";
import { differing, type FileList, freshName, isSame, listHere, listInside, lookHere } from "./file-list.ts";
import { type ArchiveEntry, packArchive, unpackArchive } from "./tar-archive.ts";

/** Of one archive, about. Bounds memory. */
const BATCH_BYTES = 32_000_000;
const TRANSFER_TIMEOUT_MS = 120_000;
/** Most that is brought back in all. */
export const DEFAULT_BACK_BYTES = 2_147_483_648;
/** A single file travels in memory. */
const MOST_FILE_BYTES = 512_000_000;

export interface SyncOptions {
  signal: AbortSignal;
  /** Most that is brought back, bytes. Default 2 GiB. */
  maxBackBytes?: number;
}

export interface SyncReport {
  written: string[];
  deleted: string[];
  /** What stayed as it was, and why. */
  skipped: { path: string; why: string }[];
}

/** One folder here and one inside, for as long as the environment lives. */
export class FolderSync {
  readonly #environment: Environment;
  readonly #here: string;
  readonly #inside: string;
  /** As of the last sync, on either side. */
  #lastHere: FileList = new Map();
  #lastInside: FileList = new Map();

  constructor(environment: Environment, folders: { here: string; inside: string }) {
    this.#environment = environment;
    this.#here = folders.here;
    this.#inside = folders.inside;
  }

  /** Makes the folder inside as the one here (I2). Throws `environment.*`. */
  async bringIn({ signal }: SyncOptions): Promise<SyncReport> {
    const [here, inside] = await Promise.all([
      listHere(this.#here),
      listInside(this.#environment, this.#inside, signal),
    ]);
    const skipped: SyncReport["skipped"] = [];
    const written = differing(here, inside).filter((path) => {
      const isTooLarge = (here.get(path)?.size ?? 0) > MOST_FILE_BYTES;
      if (isTooLarge) skipped.push({ path, why: "it is larger than 512 MB" });
      return !isTooLarge;
    });
    const deleted = [...inside.keys()].filter((path) => this.#lastInside.has(path) && !here.has(path));
    if (deleted.length > 0) await this.#deleteInside(deleted, signal);
    for (const batch of batches(written, here)) await this.#send(batch, signal);
    this.#lastHere = here;
    const [sent, gone] = [new Set(written), new Set(deleted)];
    // Not looked at again: should something be told otherwise there, its sha256 shows on the way back that it is the same.
    this.#lastInside = new Map([
      ...[...inside].filter(([path]) => !gone.has(path)),
      ...[...here].filter(([path]) => sent.has(path)),
    ]);
    return { written, deleted, skipped };
  }

  /** Brings back what commands changed (I3). Throws `environment.*`. */
  async bringBack({ signal, maxBackBytes = DEFAULT_BACK_BYTES }: SyncOptions): Promise<SyncReport> {
    const inside = await listInside(this.#environment, this.#inside, signal);
    const report: SyncReport = { written: [], deleted: [], skipped: [] };
    const wanted: string[] = [];
    let bytes = 0;
    for (const path of differing(inside, this.#lastInside)) {
      const size = inside.get(path)?.size ?? 0;
      if (size > MOST_FILE_BYTES || bytes + size > maxBackBytes) {
        report.skipped.push({ path, why: "it is more than may be brought back" });
        continue;
      }
      bytes += size;
      wanted.push(path);
    }
    for (const batch of batches(wanted, inside)) await this.#fetch(batch, { inside, report, signal });
    for (const path of this.#lastInside.keys())
      if (!inside.has(path) && this.#lastHere.has(path)) await this.#deleteHere(path, report);
    this.#lastInside = inside;
    this.#lastHere = await listHere(this.#here);
    return report;
  }

  async #send(paths: readonly string[], signal: AbortSignal): Promise<void> {
    const entries: ArchiveEntry[] = [];
    for (const path of paths) {
      const entry = await readEntry(this.#here, path);
      if (entry) entries.push(entry);
    }
    await this.#run("tar -xpf -", { signal, stdin: packArchive(entries) });
  }

  async #deleteInside(paths: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#run(`tr '\\n' '\\0' | xargs -0 rm -f --`, { signal, stdin: `${paths.join("\n")}\n` });
  }

  async #fetch(
    paths: readonly string[],
    { inside, report, signal }: { inside: FileList; report: SyncReport; signal: AbortSignal },
  ): Promise<void> {
    const size = paths.reduce((sum, path) => sum + 2_048 + (inside.get(path)?.size ?? 0), 1_000_000);
    // `./` before each: a name may begin with a dash.
    const stdin = `${paths.map((path) => `./${path}`).join("\n")}\n`;
    const { stdout } = await this.#run(`tr '\\n' '\\0' | xargs -0 tar -cf -`, {
      signal,
      stdin,
      maxBytes: size,
    });
    const asked = new Set(paths);
    for (const entry of unpackArchive(stdout)) {
      if (!asked.delete(entry.path)) continue;
      await this.#take(entry, report);
    }
    for (const path of asked) report.skipped.push({ path, why: "it was gone by then" });
  }

  /** I3, for one file. */
  async #take(entry: ArchiveEntry, report: SyncReport): Promise<void> {
    const { path } = entry;
    const skip = (why: string) => void report.skipped.push({ path, why });
    const full = join(this.#here, path);
    if (await this.#changedHere(path)) return skip("it was changed here meanwhile");
    if (entry.kind === "link" && leadsOut(path, entry.target))
      return skip("its link leads out of the folder");
    if (await leadsThroughLink(this.#here, path)) return skip("a link lies on its way");
    if (await isSameContent(full, entry)) return;
    await mkdir(dirname(full), { recursive: true });
    const fresh = join(dirname(full), freshName(path));
    try {
      await rm(fresh, { force: true });
      if (entry.kind === "link") await symlink(entry.target, fresh);
      else {
        await writeFile(fresh, entry.bytes, { flag: "wx", mode: 0o600 });
        // No set-user bits from elsewhere.
        await chmod(fresh, entry.mode & 0o777);
        await utimes(fresh, entry.mtimeSeconds, entry.mtimeSeconds);
      }
      await rename(fresh, full);
      report.written.push(path);
    } catch {
      await rm(fresh, { force: true });
      skip("it cannot be written here");
    }
  }

  async #deleteHere(path: string, report: SyncReport): Promise<void> {
    const full = join(this.#here, path);
    if (!(await lookHere(full)) || (await leadsThroughLink(this.#here, path))) return;
    if (await this.#changedHere(path)) {
      report.skipped.push({ path, why: "it was deleted there and changed here" });
      return;
    }
    await rm(full, { force: true });
    report.deleted.push(path);
  }

  async #changedHere(path: string): Promise<boolean> {
    const now = await lookHere(join(this.#here, path));
    const before = this.#lastHere.get(path);
    if (!now) return before !== undefined;
    return !isSame(now, before);
  }

  async #run(
    command: string,
    options: { signal: AbortSignal; stdin: string | Uint8Array; maxBytes?: number },
  ): Promise<CommandResult> {
    const result = await this.#environment.exec(command, {
      ...options,
      cwd: this.#inside,
      timeoutMs: TRANSFER_TIMEOUT_MS,
    });
    if (result.interrupted) options.signal.throwIfAborted();
    if (result.exitCode === 0) return result;
    const said = Buffer.from(result.stderr).toString("utf8").trim().split("\n").at(-1);
    throw new Fault("environment.broken", `files cannot be synced with ${this.#environment.label}: ${said}`, {
      hint: "Look at the space left there; the place needs tar, find, stat and xargs.",
      retry: "later",
    });
  }
}

function* batches(paths: readonly string[], list: FileList): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = list.get(path)?.size ?? 0;
    if (batch.length > 0 && bytes + size > BATCH_BYTES) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(path);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

async function readEntry(folder: string, path: string): Promise<ArchiveEntry | undefined> {
  const full = join(folder, path);
  const found = await lookHere(full);
  if (!found) return undefined;
  const { mode, mtimeSeconds } = found;
  if (found.target !== undefined) return { kind: "link", path, mode, mtimeSeconds, target: found.target };
  return { kind: "file", path, mode, mtimeSeconds, bytes: await readFile(full) };
}

/** Whether a link at `path` would point out of the folder. */
function leadsOut(path: string, target: string): boolean {
  if (target.startsWith("/")) return true;
  const end = normalize(join(dirname(path), target));
  return end === ".." || end.startsWith("../");
}

/** Whether one of the folders on the way is a link. */
async function leadsThroughLink(folder: string, path: string): Promise<boolean> {
  const parts = path.split("/").slice(0, -1);
  for (let count = 1; count <= parts.length; count++) {
    const found = await lstat(join(folder, ...parts.slice(0, count))).catch(() => undefined);
    if (found?.isSymbolicLink()) return true;
  }
  return false;
}

async function isSameContent(full: string, entry: ArchiveEntry): Promise<boolean> {
  const now = await lookHere(full);
  if (now?.kind !== entry.kind) return false;
  if (entry.kind === "link") return (await readlink(full)) === entry.target;
  if (now.size !== entry.bytes.length || now.mode !== (entry.mode & 0o777)) return false;
  const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  return digest(await readFile(full)) === digest(entry.bytes);
}
