// What every use case receives: the opened home with its ledger, definitions, configuration and parsers.

import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import type { Clock } from "../kernel/time.ts";
import type { Definition } from "../records/definition.ts";
import type { Job } from "../records/job.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { HostIdentity, ProcessIdentity } from "../records/process.ts";
import type { DefinitionSource } from "../records/source.ts";

export interface Context {
  ledger: Ledger;
  source: DefinitionSource;
  clock: Clock;
  random: Random;
  host: HostIdentity;
  log: Log;
  redact: Redact;
  /** Who acts, for the ledger: `cli:root`, `http`, `node:<id>`. */
  actor: string;
  isAlive(process: Pick<ProcessIdentity, "pid" | "startTime">): boolean;
  /** Parsed once per version. Throws `job.invalid` for a document this version cannot read. */
  parseJob(definition: Definition): Job;
  close(): Promise<void>;
}
