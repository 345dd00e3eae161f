// Starting a background process on this machine, under its shim, and writing it down before it begins (L10).

import { requireRoute } from "../../deliver/route.ts";
import { checkPatterns } from "../../execute/background/match-lines.ts";
import { startSupervised } from "../../execute/background/supervised.ts";
import { commandEnv } from "../../execute/command-env.ts";
import { findCommand } from "../../execute/find-command.ts";
import { processStartTime } from "../../execute/host.ts";
import { Fault } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Redact } from "../../kernel/redact.ts";
import { MINUTE } from "../../kernel/time.ts";
import type {
  AskedNotify,
  BackgroundNotify,
  BackgroundRecord,
  StartBackground,
} from "../../records/background.ts";
import type { Context } from "../context.ts";
import { logFileOf } from "./observe.ts";
import { folderOf } from "./places.ts";

/** Running at once, of one owner. @source upstream.md 1.9 */
export const MOST_RUNNING = 64;

export interface Owner {
  /** undefined = no run's. */
  runId: string | undefined;
  /** `cli`, `run`, `mcp:<session>`. */
  session: string;
}

/** What a process of this owner starts with. */
export interface StartPlace {
  cwd: string;
  /** Beyond S2: the job's `env`. */
  jobEnv: Readonly<Record<string, string>>;
  timezone: string;
  jobId: string | undefined;
  depth: number;
  /** Variables that the owner's shell session has exported. */
  exported: Readonly<Record<string, string>>;
  /** bubblewrap's words (S1). */
  prefix: readonly string[];
  redact: Redact;
}

/** Throws `input.*`, `environment.unusable`, `target.*`; then nothing has run. */
export async function startProcess(
  context: Context,
  owner: Owner,
  { place, options }: { place: StartPlace; options: StartBackground },
): Promise<BackgroundRecord> {
  if (options.pty)
    throw new Fault("environment.unusable", "a process with a terminal belongs to a run or a session", {
      hint: "Start it without a terminal.",
    });
  const notify = resolveNotify(context, owner, options.notify);
  const id = `proc_${makeId(context.clock.now(), context.random).slice(-12)}`;
  const env = environmentOf(context, owner, { id, place, options });
  const bash = await findCommand("bash", env.PATH ?? "");
  const folder = folderOf(context, id);
  const cwd = options.cwd ?? place.cwd;
  const { command } = options;
  const shell = bash.kind === "found" ? bash.path : "/bin/sh";
  const held = await startSupervised({ command, shell, cwd, env, folder, prefix: place.prefix });
  const record: BackgroundRecord = {
    ...heldBy(context, owner),
    id,
    environment: "local",
    command: place.redact(command),
    cwd,
    pid: held.identity.pid,
    startTime: held.identity.startTime,
    processGroup: held.identity.processGroup,
    isSupervised: true,
    persist: options.persist ?? false,
    state: "running",
    ...UNENDED,
    startedAt: await context.ledger.now(),
    logFile: logFileOf(context, id),
    notify,
  };
  try {
    await commit(context, record);
  } catch (error) {
    await held.abandon();
    throw error;
  }
  await held.release();
  return record;
}

/** What a record begins with. */
export const UNENDED = {
  exitCode: undefined,
  endedAt: undefined,
  outputBytes: 0,
  progress: undefined,
  consumedAt: undefined,
  noticedAt: undefined,
  killRequestedAt: undefined,
} as const;

/** Whose it is, and which process of ours started it. */
export function heldBy(context: Context, { runId, session }: Owner) {
  const { hostId, machineId, bootId } = context.host;
  return {
    ...{ ownerRunId: runId, session, hostId, machineId, bootId },
    holderPid: process.pid,
    holderStartTime: processStartTime(process.pid) ?? "",
  };
}

/** Throws `input.conflict` where too many of the owner's run. */
export async function commit(context: Context, record: BackgroundRecord): Promise<void> {
  if ((await context.ledger.putBackground(record, MOST_RUNNING)) === "put") return;
  throw new Fault("input.conflict", `${MOST_RUNNING} processes of this owner are running already`, {
    hint: "Kill one that is no longer needed.",
  });
}

/** S1, S2, L10. Its own id is its mark: what its owner left must not be mistaken for it, nor it for that. */
function environmentOf(
  context: Context,
  owner: Owner,
  { id, place, options }: { id: string; place: StartPlace; options: StartBackground },
): Record<string, string> {
  const env = commandEnv({
    nodeEnv: context.env,
    jobEnv: place.jobEnv,
    timezone: place.timezone,
    run: {
      ...{ id, jobId: place.jobId, slot: undefined, attempt: 1 },
      ...{ idempotencyKey: id, parentId: owner.runId },
    },
    lineage: { depth: place.depth },
  });
  const marks = Object.entries(env).filter(([name]) => name.startsWith("NIGHTSHIFT_"));
  return { ...env, ...place.exported, ...Object.fromEntries(marks), ...plainEnv(options.env ?? {}) };
}

/** Values as they stand: a reference to a variable of the node is no caller's to make (S2). */
function plainEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name.startsWith("NIGHTSHIFT_") || value.includes("\0"))
      throw new Fault("input.invalid", `${JSON.stringify(name)} cannot be a command's variable`, {
        hint: "Use letters, digits and _, not starting with a digit nor with NIGHTSHIFT_, and no NUL byte.",
      });
  return env;
}

/** Whom it means. Throws `input.*`, `target.*` for what could never be told, or never be matched. */
export function resolveNotify(
  context: Context,
  { runId }: Owner,
  asked: AskedNotify | undefined,
): BackgroundNotify | undefined {
  if (!asked) return undefined;
  const { targets, ...rest } = asked;
  checkPatterns(asked.watch ?? []);
  if (asked.heartbeatMs !== undefined && !(asked.heartbeatMs >= MINUTE))
    throw new Fault("input.invalid", "a heartbeat comes at most once a minute", { hint: "Give 1m or more." });
  const selectors = context.parseTargets(targets ?? []);
  requireRoute(selectors, context.routeFor(undefined));
  if (targets && selectors.length > 0) return { ...rest, to: { kind: "targets", targets } };
  if (runId !== undefined) return { ...rest, to: { kind: "run", runId } };
  throw new Fault("input.invalid", "nobody is to be told", { hint: "Name a target, for instance local." });
}
