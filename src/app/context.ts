// What every use case receives: the opened home with its ledger, definitions, configuration and parsers.

import type { AdapterTable } from "../deliver/adapter-table.ts";
import type { RowContext } from "../deliver/outbox-rows.ts";
import type { RouteContext } from "../deliver/route.ts";
import type { ScriptPlace } from "../execute/prepare-script.ts";
import type { Random } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Redact } from "../kernel/redact.ts";
import type { Clock, Instant } from "../kernel/time.ts";
import type { Config } from "../records/config-document.ts";
import type { Definition } from "../records/definition.ts";
import type { Origin, TargetSelector } from "../records/delivery.ts";
import type { KnownExecutors } from "../records/executor.ts";
import type { Job, JobDocument, TargetDocument } from "../records/job.ts";
import type { Ledger } from "../records/ledger/index.ts";
import type { DecideJob, DigestMissed, JobView } from "../records/ledger/slots.ts";
import type { HostIdentity, ProcessIdentity } from "../records/process.ts";
import type { DefinitionSource } from "../records/source.ts";
import type { Home } from "../store/files/home.ts";
import type { WorkTable } from "./work.ts";

export interface Context {
  home: Home;
  config: Config;
  ledger: Ledger;
  source: DefinitionSource;
  clock: Clock;
  random: Random;
  host: HostIdentity;
  log: Log;
  redact: Redact;
  version: string;
  /** `sqlite:<path>` or `postgres://…`. */
  storeUrl: string;
  /** Who acts, for the ledger: `cli:root`, `http`, `node:<id>`. */
  actor: string;
  /** Zone of jobs that name none: the config's, else the system's (T1). */
  zone: string;
  idleOverrideMs: number | undefined;
  platforms: AdapterTable;
  /** Kinds of work that an embedding program does in its own way. */
  work: WorkTable;
  /** All that is registered: built in, in executors/, in the config, by the embedding program. */
  executors: KnownExecutors;
  scriptPlace: ScriptPlace;
  env: Readonly<Record<string, string | undefined>>;
  /** A variable of the process, else of the home's `.env`. */
  variable(name: string): string | undefined;
  /** The text with every `${env:NAME}` replaced. Throws `config.invalid` naming the variable that is missing. */
  resolveReferences(text: string): string;
  isAlive(process: Pick<ProcessIdentity, "pid" | "startTime">): boolean;
  /** Parsed once per version. Throws `job.invalid` for a document this version cannot read. */
  parseJob(definition: Definition): Job;
  parseTargets(targets: readonly TargetDocument[]): TargetSelector[];
  resolveDocument(document: JobDocument, fixed: { zone: string; anchor: Instant; now: Instant }): Job;
  routeFor(origin: Origin | undefined): RouteContext;
  rowsFor(origin: Origin | undefined): RowContext;
  decide: DecideJob;
  digest: DigestMissed;
  /** One job by id, else by name. Throws `input.not-found`, `input.ambiguous`. */
  findJob(idOrName: string): Promise<JobView>;
  close(): Promise<void>;
}
