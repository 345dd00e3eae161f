// The values reconciling works on. app/ fills the input from the ledger and applies the actions with `changeJob`.

import type { Instant } from "../../kernel/time.ts";
import type { JobDocument } from "../../records/job.ts";
import type { DefinitionSource, SourceEntry } from "../../records/source.ts";

/** What a file's text turned out to be. `error` is one line, with line and column where there is one. */
export type EntryReading =
  | { kind: "valid"; document: JobDocument; hasExplicitId: boolean }
  | { kind: "invalid"; error: string };

/** What the ledger knows of one job whose definition came from a file. */
export interface KnownJob {
  jobId: string;
  /** Path relative to the home, of the version in force. */
  source: string;
  digest: string;
  version: number;
  /** Whether the job was removed (a tombstone): its id is known, its file is not expected. */
  isRemoved: boolean;
  /** The reason of the open `held` suspension, if there is one. */
  heldReason: string | undefined;
}

export interface ReconcileInput {
  listing: Awaited<ReturnType<DefinitionSource["list"]>>;
  /** Every job of the ledger by id, removed ones included; those whose source is no job file are left alone. */
  known: ReadonlyMap<string, KnownJob>;
  /** The previous answer of this process: how long files have been missing, and what was reported. Undefined at a start. */
  previous: ReconcileResult | undefined;
  /** Wall clock: only compared with `listing.settlesAt`. */
  now: Instant;
  /** Monotonic clock: measures how long a file has been missing, so that a clock step deletes nothing. */
  monotonicMs: number;
  /** Reads and checks a text; must not throw. `defaultId` is the id it has without one of its own. Called for changed files only. */
  read(entry: SourceEntry, defaultId: string): EntryReading;
  /** T3: whether this document, unknown to the ledger, is a once-job whose instant has passed. */
  isPastUnknown(reading: Extract<EntryReading, { kind: "valid" }>): boolean;
}

export type ReconcileAction =
  | {
      /** Record a version (`changeJob define`). `returned`: a removed job's id has come back as a file (D3). */
      kind: "define";
      jobId: string;
      source: string;
      entry: SourceEntry;
      reading: Extract<EntryReading, { kind: "valid" }>;
      was: "new" | "changed" | "returned";
      /** For `expectVersion`: the version in force, 0 = none. */
      version: number;
    }
  /** The file has another name, its bytes are the same (`changeJob move`). */
  | { kind: "move"; jobId: string; from: string; source: string }
  /** `isKnown`: suspend the job as `held`. Otherwise there is no row to suspend: say so (once per reason). */
  | { kind: "hold"; jobId: string; source: string; reason: string; isKnown: boolean }
  | { kind: "unhold"; jobId: string; source: string }
  /** Its file has been gone for five seconds. */
  | { kind: "remove"; jobId: string; source: string };

export interface ReconcileResult {
  actions: ReconcileAction[];
  /** Files that do not count now, by source: for `status` and `job list`. */
  held: ReadonlyMap<string, { jobId: string; reason: string }>;
  /** Since when each missing job's file has been missing, on the monotonic clock. */
  missingSinceMs: ReadonlyMap<string, number>;
  /** When something would change by itself; undefined = wait for a change of the folder. */
  lookAgainInMs: number | undefined;
}
