// The background processes of a home, as a person sees them: all of them; what is started here is the home's own.

import { formatInstant } from "../../kernel/time.ts";
import type { AskedNotify, BackgroundProcess, Processes } from "../../records/background.ts";
import type { Context } from "../context.ts";
import { ownedProcesses } from "./owned-processes.ts";

/** `cwd` = where commands start. */
export function homeProcesses(context: Context, cwd: string): Processes {
  return ownedProcesses({
    context,
    owner: { runId: undefined, session: "cli" },
    seesAll: true,
    mayTellTargets: true,
    place: async () => ({
      ...{ cwd, jobEnv: {}, timezone: context.zone, jobId: undefined, depth: 0 },
      ...{ exported: {}, prefix: [], redact: context.redact },
    }),
  });
}

export interface ProcessDocument {
  id: string;
  command: string;
  cwd: string;
  environment: string;
  /** Whose end ends it, or null. */
  runId: string | null;
  pid: number | null;
  state: string;
  exitCode: number | null;
  startedAt: string;
  endedAt: string | null;
  outputBytes: number;
  /** The first piece of its output. */
  logFile: string | null;
}

export function processDocument(
  process: BackgroundProcess & { logFile?: string | undefined },
): ProcessDocument {
  return {
    id: process.id,
    command: process.command,
    cwd: process.cwd,
    environment: process.environment,
    runId: process.ownerRunId ?? null,
    pid: process.pid ?? null,
    state: process.state,
    exitCode: process.exitCode ?? null,
    startedAt: formatInstant(process.startedAt),
    endedAt: process.endedAt === undefined ? null : formatInstant(process.endedAt),
    outputBytes: process.outputBytes,
    logFile: process.logFile ?? null,
  };
}

/** What `--notify` and its kin ask for; undefined = nobody is told. */
export function notifyOf(asked: {
  targets: readonly string[] | undefined;
  texts: readonly string[];
  regexes: readonly string[];
  heartbeatMs: number | undefined;
}): AskedNotify | undefined {
  const { targets, texts, regexes, heartbeatMs } = asked;
  if (!targets) return undefined;
  const watch = [...texts.map((text) => ({ text })), ...regexes.map((regex) => ({ regex }))];
  return {
    onExit: true,
    targets,
    ...(watch.length > 0 && { watch }),
    ...(heartbeatMs !== undefined && { heartbeatMs }),
  };
}
