// Opens a home: the composition of paths, configuration, ledger, definitions and adapters that every surface works on.

import type { AdapterTable } from "../deliver/adapter-table.ts";
import { makeAdapters } from "../deliver/adapters/index.ts";
import type { HandOver } from "../deliver/adapters/profile.ts";
import { makeDigest } from "../deliver/digest.ts";
import { parseFrame } from "../deliver/frame.ts";
import { DEFAULT_ALERTS } from "../deliver/incidents.ts";
import { parseMirror } from "../deliver/mirror.ts";
import { parseHomes, parseTargets } from "../deliver/targets.ts";
import { isSameProcess, readHost } from "../execute/host.ts";
import { Fault } from "../kernel/errors.ts";
import type { Random } from "../kernel/ids.ts";
import { type Log, type LogLevel, type LogSink, makeLog } from "../kernel/log.ts";
import { makeAllowAddress } from "../kernel/private-addresses.ts";
import { chainRedact, makePatternRedact, makeRedact, type Redact } from "../kernel/redact.ts";
import type { Clock } from "../kernel/time.ts";
import { type ConfigReading, readConfig } from "../records/config-document.ts";
import type { Definition } from "../records/definition.ts";
import type { Origin } from "../records/delivery.ts";
import type { Job, JobDocument } from "../records/job.ts";
import { parseIdleOverride } from "../records/job-resolve.ts";
import type { Ledger } from "../records/ledger/index.ts";
import { type Home, openHome, readHomeFile } from "../store/files/home.ts";
import { openJobFiles } from "../store/files/job-files.ts";
import { openDocumentTable } from "../store/sql/documents.ts";
import { openLedger } from "../store/sql/open-ledger.ts";
import type { Context } from "./context.ts";
import { decideSafely } from "./decide-safely.ts";
import { lazyExecutors } from "./executors/lazy-executors.ts";
import type { ProgramExecutors } from "./executors/registry.ts";
import { findJob } from "./find-job.ts";
import { handOverFrom } from "./hand-over.ts";
import { resolveDocument } from "./job-documents.ts";
import { platformSettings } from "./platform-settings.ts";
import { traitsOf, withTraits } from "./run-traits.ts";
import { systemClock, systemRandom } from "./system.ts";
import { systemZone } from "./system-zone.ts";
import type { WorkTable } from "./work.ts";

export interface OpenOptions {
  /** The home's folder. */
  path: string;
  /** `postgres://…`; undefined = the home's own ledger.db. */
  storeUrl: string | undefined;
  actor: string;
  isDebug: boolean;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  /** Another config file than the home's (`up --config`). */
  configFile?: string;
  /** Where log lines go. Default: nowhere. */
  logSink?: LogSink;
  /** Where the `stdout` target writes. Default: the target is unusable here. */
  stdout?: (text: string) => void;
  /** Kinds of work that an embedding program does in its own way. */
  work?: WorkTable;
  /** What an embedding program registers, by name. */
  executors?: ProgramExecutors;
  /** Another source of time or randomness than the system's: for programs that drive them by hand. */
  clock?: Clock;
  random?: Random;
}

/** How many parsed jobs are kept; a pass over more jobs parses the rest again. */
const PARSED_JOBS = 20_000;

/** Opens everything. Throws `home.unusable`, `config.invalid`, `store.*`. The caller closes it. */
export async function openContext(options: OpenOptions): Promise<Context> {
  requirePlatform();
  const { clock = systemClock, random = systemRandom } = options;
  const home = await openHome(options.path, { random });
  const reading = await readHomeConfig(home, options);
  const redact = redactOf(reading);
  const level: LogLevel = options.isDebug ? "debug" : reading.config.logs.level;
  const log = makeLog(options.logSink ?? (() => {}), level);
  const host = readHost();
  const storeUrl = options.storeUrl ?? `sqlite:${home.paths.ledgerFile}`;
  const ledger = await openLedger({
    url: storeUrl,
    clock,
    random,
    host,
    runFolder: home.paths.runFolder,
  });
  const platforms = platformsOf({
    home,
    reading,
    ledger,
    stdout: options.stdout,
    clock,
    env: options.env,
    handOver: handOverFrom(options.path, (path) =>
      openContext({ ...options, path, storeUrl: undefined, actor: "profile" }),
    ),
  });
  return compose({ options, home, reading, redact, log, host, storeUrl, ledger, platforms });
}

interface Parts {
  options: OpenOptions;
  home: Home;
  reading: ConfigReading;
  redact: Redact;
  log: Log;
  host: Context["host"];
  storeUrl: string;
  ledger: Ledger;
  platforms: AdapterTable;
}

function compose(parts: Parts): Context {
  const { options, home, reading, redact, ledger, platforms, log } = parts;
  const { clock = systemClock, random = systemRandom } = options;
  const { config } = reading;
  const homes = parseHomes(config.deliver.homes, platforms);
  const mirror = parseMirror(config.deliver.mirror, platforms);
  const { header, footer } = config.deliver;
  const frame = parseFrame({ header, footer });
  const alerts = { ...DEFAULT_ALERTS, ...config.deliver.alerts };
  const routeFor = (origin: Origin | undefined) => ({ origin, homes, adapters: platforms });
  const context: Omit<Context, "decide" | "digest" | "parseJob"> = {
    home,
    config,
    ledger,
    source: ledger.engine === "postgres" ? openDocumentTable(ledger) : openJobFiles(home.paths, { clock }),
    clock,
    random,
    host: parts.host,
    log,
    redact,
    version: options.version,
    storeUrl: parts.storeUrl,
    actor: options.actor,
    zone: config.timezone ?? systemZone(options.env),
    idleOverrideMs: parseIdleOverride(options.env.NIGHTSHIFT_IDLE_TIMEOUT),
    platforms,
    work: options.work ?? {},
    executors: executorsOf(parts, () => context as Context),
    scriptPlace: scriptPlaceOf(parts),
    env: options.env,
    variable: reading.variable,
    resolveReferences: reading.resolve,
    isAlive: (identity) => isSameProcess({ ...identity, processGroup: identity.pid }),
    parseTargets: (targets) => parseTargets(targets, platforms),
    resolveDocument: (document, fixed) => resolveDocument(context, document, fixed),
    routeFor,
    rowsFor: (origin) => ({ route: routeFor(origin), redact, mirror, alerts, frame }),
    findJob: (idOrName) => findJob(context, idOrName),
    async close() {
      await context.executors.close();
      await ledger.close();
    },
  };
  for (const note of reading.warnings) log.warn("config-note", { note });
  const parseJob = cachedParse((definition) => parseDefinition(context, definition));
  return Object.assign(context, {
    parseJob,
    decide: withTraits(decideSafely(parseJob, log), ({ definition }) =>
      traitsOf(context, parseJob(definition)),
    ),
    digest: makeDigest({
      jobOf: (view) => tryParse(parseJob, view.definition),
      contextFor: (job) => context.rowsFor(job.origin),
    }),
  });
}

function executorsOf({ options, home }: Parts, context: () => Context): Context["executors"] {
  return lazyExecutors(context, {
    program: options.executors ?? {},
    configFile: options.configFile ?? home.paths.configFile,
    readConfig: async () => (await readHomeConfig(home, options)).config,
  });
}

function scriptPlaceOf({ options, home, reading }: Parts): Context["scriptPlace"] {
  return {
    scriptsFolder: home.paths.scriptsFolder,
    nodeEnv: options.env,
    variable: reading.variable,
    node: { path: process.execPath, version: process.versions.node },
  };
}

/** Scripts always; what else an embedding program brings. */
function parseDefinition(context: Pick<Context, "resolveDocument">, definition: Definition): Job {
  const document = JSON.parse(definition.document) as JobDocument;
  const { zone, anchor, inForceFrom } = definition;
  return context.resolveDocument(document, { zone, anchor, now: inForceFrom });
}

function tryParse(parseJob: Context["parseJob"], definition: Definition): Job | undefined {
  try {
    return parseJob(definition);
  } catch {
    return undefined;
  }
}

/** A version changes only by its anchor, after a step back (T8), so its parse is kept; the oldest is dropped first. */
function cachedParse(parse: (definition: Definition) => Job): Context["parseJob"] {
  const known = new Map<string, Job>();
  return (definition) => {
    const key = `${definition.jobId}@${definition.version}/${definition.anchor}`;
    const cached = known.get(key);
    if (cached) return cached;
    const job = parse(definition);
    if (known.size >= PARSED_JOBS) known.delete(known.keys().next().value ?? "");
    known.set(key, job);
    return job;
  };
}

async function readHomeConfig(home: Home, options: OpenOptions): Promise<ConfigReading> {
  const file = options.configFile ?? home.paths.configFile;
  const [text, envFile] = await Promise.all([readHomeFile(file), readHomeFile(home.paths.envFile)]);
  if (options.configFile !== undefined && text === undefined) {
    throw new Fault("config.invalid", `There is no file ${file}.`, { hint: "Correct --config." });
  }
  return readConfig(text?.text, {
    file,
    env: options.env,
    envFile,
  });
}

function redactOf({ config, secrets }: ConfigReading): Redact {
  const patterns = config.redact.patterns.map((pattern) => new RegExp(pattern, "g"));
  return chainRedact(makeRedact(secrets()), makePatternRedact(patterns));
}

function platformsOf(parts: {
  home: Home;
  reading: ConfigReading;
  ledger: Ledger;
  stdout: ((text: string) => void) | undefined;
  clock: Clock;
  handOver: HandOver;
  env: OpenOptions["env"];
}): AdapterTable {
  const { home, reading, ledger, stdout, clock, handOver } = parts;
  return makeAdapters({
    clock,
    local: { home: home.paths.root, outputFileOf: (runId) => outputFileOf(ledger, runId) },
    ...(stdout && { stdout: { write: async (text: string) => stdout(text) } }),
    webhook: webhookOptions(reading),
    profile: { handOver },
    platforms: platformSettings(reading),
    reach: { allow: makeAllowAddress(reading.config.deliver.allowPrivate) },
    command: { env: programEnv(parts.env) },
  });
}

/** What a delivery program sees of this process: the same few names that a job's command does (S2). */
function programEnv(env: OpenOptions["env"]): Record<string, string> {
  const names = Object.keys(env).filter((name) => /^(PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, env[name] ?? ""]));
}

/** References are resolved here, at use: a variable that is missing names itself (`config.invalid`). */
function webhookOptions({ config, resolve }: ConfigReading) {
  const { webhooks, webhookSecret, allowPrivate } = config.deliver;
  const optional = (reference: string | undefined) =>
    reference === undefined ? undefined : resolve(reference);
  const named = Object.entries(webhooks).map(([name, { url, secret, headers }]) => [
    name,
    {
      url: resolve(url),
      secret: optional(secret),
      headers: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header, resolve(value)])),
    },
  ]);
  return { named: Object.fromEntries(named), secret: optional(webhookSecret), allowPrivate };
}

async function outputFileOf(ledger: Ledger, runId: string): Promise<string | undefined> {
  const run = await ledger.run(runId);
  return run && !("ambiguous" in run) ? run.outputFile : undefined;
}

/** S6. */
function requirePlatform(): void {
  if (process.platform !== "win32") return;
  throw new Fault("platform.unsupported", "Native Windows is not supported.", {
    hint: "Run Nightshift inside WSL2.",
  });
}
