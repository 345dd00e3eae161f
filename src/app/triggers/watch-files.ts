// The files of one pattern, watched (W7): each that came or changed is an event once it has come to rest.
//
// I1. An event is a path with its time of change and its size: the ledger knows it again after a restart, so that what
//     changed while nobody looked is an event then, and nothing is one twice.
// I2. What lay there before a job waited for it is none.
// I3. A file counts when size and times have stayed as they are for `settleMs` before our eyes: times alone can be set.

import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { linkAbort } from "../../kernel/abort.ts";
import { isFault, messageOf } from "../../kernel/errors.ts";
import { DAY, formatInstant, type Instant } from "../../kernel/time.ts";
import type { JobTrigger } from "../../records/trigger.ts";
import { watchFolder } from "../../store/files/watch-folder.ts";
import type { Context } from "../context.ts";
import { eventKey, fireEvent } from "../fire-event.ts";
import { untilStored } from "../until-stored.ts";
import { type FilePattern, readFilePattern } from "./file-pattern.ts";

export type FileTrigger = Extract<JobTrigger, { pattern: string }>;

/** Shorter than events are remembered (housekeeping.ts): what is older cannot be told from what was an event then. */
const OLDEST_MS = 80 * DAY;

/** A file system's clock lies some ms behind ours. */
const COARSE_MS = 50;

interface Sighting {
  stamp: string;
  sinceMs: number;
}

export class FileWatch {
  readonly #context: Context;
  readonly #trigger: FileTrigger;
  readonly #pattern: FilePattern;
  readonly #stop = new AbortController();
  /** By path: those that are not at rest yet. */
  readonly #sightings = new Map<string, Sighting>();
  /** By path: the stamp of what needs no further look. */
  readonly #done = new Map<string, string>();
  readonly #since: Instant;
  #unwatch = () => {};
  #looking: Promise<void> | undefined;
  #isDirty = false;
  #nap: ReturnType<typeof linkAbort> | undefined;

  /** `since`: when the first of its jobs began to wait (I2). */
  constructor(context: Context, trigger: FileTrigger, since: Instant) {
    this.#context = context;
    this.#trigger = trigger;
    this.#since = since;
    this.#pattern = readFilePattern(trigger.pattern, context.env.HOME ?? "/");
  }

  /** Idempotent. */
  start(): void {
    const { folder, accepts } = this.#pattern;
    this.#unwatch = watchFolder({
      ...{ folder, accepts, clock: this.#context.clock },
      listener: () => this.#look(),
    });
    this.#look();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    this.#unwatch();
    this.#nap?.abort("stopped");
    await this.#looking;
  }

  #look(): void {
    this.#isDirty = true;
    this.#nap?.abort("changed");
    if (this.#stop.signal.aborted) return;
    this.#looking ??= this.#lookUntilAtRest()
      .catch((error) => {
        const { log } = this.#context;
        if (!this.#stop.signal.aborted)
          log.warn("files-not-watched", { trigger: this.#trigger.name, error: messageOf(error) });
      })
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #lookUntilAtRest(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && (this.#isDirty || this.#sightings.size > 0)) {
      this.#isDirty = false;
      const waitMs = await this.#lookOnce();
      if (this.#sightings.size > 0 && !this.#isDirty) await this.#sleep(waitMs);
    }
  }

  /** Returns when the next file may have come to rest, in ms. */
  async #lookOnce(): Promise<number> {
    const found = await this.#candidates();
    const { clock } = this.#context;
    const { settleMs } = this.#trigger;
    let waitMs = settleMs;
    for (const path of [...this.#sightings.keys(), ...this.#done.keys()])
      if (!found.has(path)) for (const map of [this.#sightings, this.#done]) map.delete(path);
    const resting: [string, Stats][] = [];
    for (const [path, stats] of found) {
      const stamp = stampOf(stats);
      if (this.#done.get(path) === stamp) continue;
      const seen = this.#sightings.get(path);
      if (seen?.stamp !== stamp) {
        this.#sightings.set(path, { stamp, sinceMs: clock.monotonicMs() });
        continue;
      }
      const leftMs = seen.sinceMs + settleMs - clock.monotonicMs();
      if (leftMs > 0) waitMs = Math.min(waitMs, leftMs);
      else resting.push([path, stats]);
    }
    await this.#fireAll(resting);
    return Math.max(1, Math.ceil(waitMs));
  }

  /** Files that may be events, by path. */
  async #candidates(): Promise<Map<string, Stats>> {
    const { folder, accepts } = this.#pattern;
    const names = (await readdir(folder).catch(() => [])).filter(accepts).sort();
    const oldest = Math.max(this.#since - COARSE_MS, this.#context.clock.now() - OLDEST_MS);
    const found = new Map<string, Stats>();
    for (const name of names) {
      const path = join(folder, name);
      const stats = await stat(path).catch(() => undefined);
      // A file that was moved here keeps its mtime: its ctime says when.
      if (stats?.isFile() && Math.max(stats.mtimeMs, stats.ctimeMs) >= oldest) found.set(path, stats);
    }
    return found;
  }

  /** Those that the ledger knows cost one reading together. */
  async #fireAll(resting: readonly (readonly [string, Stats])[]): Promise<void> {
    if (resting.length === 0) return;
    const keys = resting.map(([path, stats]) => eventKey(this.#trigger, fileKey(path, stats)));
    const known = await this.#stored("read events", () => this.#context.ledger.knownEvents(keys));
    for (const [index, [path, stats]] of resting.entries()) {
      if (!known.has(keys[index] ?? "")) await this.#fire(path, stats);
      this.#sightings.delete(path);
      this.#done.set(path, stampOf(stats));
    }
  }

  async #fire(path: string, stats: Stats): Promise<void> {
    const { kind, name } = this.#trigger;
    const file = { path, name: basename(path), bytes: stats.size, modifiedAt: formatInstant(stats.mtimeMs) };
    const event = {
      trigger: { kind, name },
      key: fileKey(path, stats),
      data: JSON.stringify(file),
      contentType: "application/json",
    };
    try {
      await this.#stored("record a file", () => fireEvent(this.#context, event));
    } catch (error) {
      if (!isFault(error) || error.retry === "later") throw error;
      this.#context.log.warn("file-not-told", { trigger: name, path, error: error.message });
    }
  }

  #stored<T>(what: string, operation: () => Promise<T>): Promise<T> {
    return untilStored(this.#context, what, operation, this.#stop.signal);
  }

  async #sleep(ms: number): Promise<void> {
    const nap = linkAbort(this.#stop.signal);
    this.#nap = nap;
    await this.#context.clock.sleep(ms, nap.signal).catch(() => {});
    this.#nap = undefined;
    nap.release();
  }
}

/** To the whole ms: the text of a time must read the same after a restart. */
function fileKey(path: string, { mtimeMs, size }: Stats): string {
  return createHash("sha256")
    .update(`${path}\n${Math.floor(mtimeMs)}\n${size}`)
    .digest("hex");
}

const stampOf = ({ size, mtimeMs, ino }: Stats) => `${size}:${mtimeMs}:${ino}`;
