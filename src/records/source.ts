// The port for definitions as people own them (law 9): files in a home, or rows of a table on PostgreSQL.

/** A definition found in its source: its bytes as text, and where it stands. */
export interface SourceEntry {
  /** Path relative to the home (`jobs/disk-watch.yaml`), or `table/<id>`. */
  source: string;
  /** The id it would have without an explicit `id:` (the file's name). */
  defaultId: string;
  /** sha256 of the bytes. */
  digest: string;
  text: string;
}

/** An entry that exists and cannot be read (permissions, not UTF-8, too large). Its bytes are never touched. */
export interface UnreadableEntry {
  source: string;
  defaultId: string;
  error: string;
}

export type WriteAnswer =
  | { kind: "written"; digest: string }
  | { kind: "conflict"; actualDigest: string | undefined };

export interface DefinitionSource {
  /** Everything that counts now: stable for a second (D2). `isReadable` false = the folder itself cannot be read: nothing may be deduced from absence. */
  list(): Promise<{
    isReadable: boolean;
    entries: readonly SourceEntry[];
    unreadable: readonly UnreadableEntry[];
    /** Seen, but too fresh to count: neither present nor missing. */
    unsettled?: readonly string[];
    /** When the first of those can count: look again then. */
    settlesAt: number | undefined;
  }>;
  read(source: string): Promise<SourceEntry | undefined>;
  /** Where a new job's definition goes. */
  sourceFor(jobId: string): string;
  /** Writes durably when the present digest equals `expectedDigest` (undefined = must not exist). */
  write(source: string, text: string, expectedDigest: string | undefined): Promise<WriteAnswer>;
  /** Moves it out of the way, keeping its bytes (D3: `.trash/`). Returns where to. */
  remove(
    source: string,
    expectedDigest: string,
  ): Promise<{ kind: "removed"; keptAt: string } | { kind: "conflict" }>;
  /** Calls back when anything in it may have changed. Returns an unsubscribe. */
  watch(listener: () => void): () => void;
}
