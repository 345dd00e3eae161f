// An Environment over a Place: sessions, results, long-lived commands and files, the same for every backend.
//
// I1. The session is what the last call to finish left (exported variables, functions, directory); of parallel calls the
//     last to finish wins. A call that timed out or was interrupted changes nothing of it.
// I2. A call's own `env` and `cwd` are for that call.
// I3. Calls after `dispose` throw `environment.unusable`; `dispose` waits for none of them: it ends them.

import { Fault } from "../../kernel/errors.ts";
import type {
  CommandResult,
  Environment,
  ExecOptions,
  SpawnedCommand,
  SpawnOptions,
} from "../../records/environment.ts";
import { readInside, writeInside } from "./inside-files.ts";
import type { EnvironmentDeps, Launched, Place } from "./place.ts";
import { DEFAULT_GRACE_MS } from "./place.ts";
import { type CallEnd, DEFAULT_CPU_SAMPLE_MS, DEFAULT_MAX_BYTES, runCall } from "./run-call.ts";
import { LONGEST_ARGUMENT, sessionArgv } from "./session-script.ts";
import { spawnedOver } from "./spawned.ts";

/** Files of ended calls that may wait before one call removes them. */
const MOST_STALE = 64;

interface Session {
  cwd: string;
  /** Calls whose state may be the session's, newest first. */
  candidates: string[];
  stale: string[];
}

interface Opened {
  deps: EnvironmentDeps;
  place: Place;
  session: Session;
  live: Set<Launched>;
}

/** The environment of an opened place. The place is the environment's from now on. */
export function makeShellEnvironment(deps: EnvironmentDeps, place: Place): Environment {
  const opened: Opened = {
    deps,
    place,
    session: { cwd: place.cwd, candidates: [], stale: [] },
    live: new Set(),
  };
  let disposing: Promise<{ survivors: number }> | undefined;
  const whileOpen = () => {
    if (disposing)
      throw new Fault("environment.unusable", `${place.label} has been closed`, {
        hint: "Open a new environment for further commands.",
      });
  };
  return {
    backend: place.backend,
    label: place.label,
    cwd: place.cwd,
    ownFolder: place.stateFolder,
    async exec(command, options) {
      whileOpen();
      return exec(opened, command, options);
    },
    async spawn(command, options) {
      whileOpen();
      return spawn(opened, command, options);
    },
    async readFile(path, options) {
      whileOpen();
      const full = absolute(opened, path);
      return place.files?.read(full, options) ?? readInside(deps, place, { ...options, path: full });
    },
    async writeFile(path, data, options) {
      whileOpen();
      const full = absolute(opened, path);
      await (place.files?.write(full, data, options) ??
        writeInside(deps, place, { ...options, path: full, data }));
    },
    dispose() {
      disposing ??= dispose(opened);
      return disposing;
    },
  };
}

async function dispose({ deps, place, live }: Opened): Promise<{ survivors: number }> {
  try {
    return await place.close({ graceMs: deps.graceMs ?? DEFAULT_GRACE_MS });
  } finally {
    for (const launched of live) launched.drop();
  }
}

const absolute = ({ session }: Opened, path: string) =>
  path.startsWith("/") ? path : `${session.cwd === "/" ? "" : session.cwd}/${path}`;

async function exec(opened: Opened, command: string, options: ExecOptions): Promise<CommandResult> {
  const { deps, place, session } = opened;
  const startedAt = deps.clock.monotonicMs();
  if (options.signal.aborted) return notStarted(session.cwd);
  const callId = deps.newId();
  const keepBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const launched = await launch(opened, { command, callId, options, keepBytes, isKept: true });
  const callDeps = {
    clock: deps.clock,
    // Asked for when it is needed: whoever is in a hurry shortens it meanwhile (L13).
    get graceMs() {
      return deps.graceMs ?? DEFAULT_GRACE_MS;
    },
    cpuSampleMs: deps.cpuSampleMs ?? DEFAULT_CPU_SAMPLE_MS,
  };
  const end = await runCall(callDeps, place, { callId, nonce: callId, launched, options });
  const lost = end.why === "exit" && !end.word ? await place.whyLost(await launched.exited) : undefined;
  if (lost) throw withOutput(lost, end);
  session.stale.push(`command.${callId}`, `env.${callId}`);
  keepState(session, callId, { end, isOwnCwd: options.cwd !== undefined });
  return {
    exitCode: end.exitCode,
    stdout: end.stdout,
    stderr: end.stderr,
    timedOut: end.why === "timeout",
    interrupted: end.why === "interrupt",
    truncated: end.isTruncated,
    durationMs: deps.clock.monotonicMs() - startedAt,
    cwd: session.cwd,
  };
}

/** What came before the place was lost is kept with the fault, its tail. */
function withOutput(lost: Error, end: CallEnd): Error {
  if (!(lost instanceof Fault)) return lost;
  const { code, message, hint, retry, details } = lost;
  const tail = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8").slice(-2_000);
  return new Fault(code, message, {
    hint,
    retry,
    cause: lost,
    details: { ...details, stdout: tail(end.stdout), stderr: tail(end.stderr) },
  });
}

function notStarted(cwd: string): CommandResult {
  const nothing = new Uint8Array();
  return {
    exitCode: 130,
    stdout: nothing,
    stderr: nothing,
    timedOut: false,
    interrupted: true,
    truncated: false,
    durationMs: 0,
    cwd,
  };
}

/** I1. Without its word a call may have saved its state or not: it is tried first, and what was known stays behind it. */
function keepState(
  session: Session,
  callId: string,
  { end, isOwnCwd }: { end: CallEnd; isOwnCwd: boolean },
): void {
  const stateFiles = (id: string) => [`ok.${id}`, `state.${id}`];
  if (end.why === "timeout" || end.why === "interrupt" || (end.word && !end.word.isSaved)) {
    session.stale.push(...stateFiles(callId));
    return;
  }
  const known = end.word ? [] : session.candidates.slice(0, 1);
  session.stale.push(...session.candidates.filter((id) => !known.includes(id)).flatMap(stateFiles));
  session.candidates = [callId, ...known];
  if (end.word && !isOwnCwd) session.cwd = end.word.cwd;
}

interface Start {
  command: string;
  callId: string;
  options: Pick<ExecOptions, "cwd" | "env" | "signal"> & { stdin?: unknown; pty?: SpawnOptions["pty"] };
  isKept: boolean;
  keepBytes?: number;
}

async function launch(opened: Opened, start: Start): Promise<Launched> {
  const { deps, place, session, live } = opened;
  const { command, callId, options } = start;
  refuseNul(command, options.env ?? {});
  const isLong = Buffer.byteLength(command) > (place.longestArgument ?? LONGEST_ARGUMENT);
  const file = `command.${callId}`;
  if (isLong)
    await writeInside(deps, place, {
      path: `${place.stateFolder}/${file}`,
      data: Buffer.from(command),
      mode: 0o600,
      signal: options.signal,
    });
  const stale = session.stale.length >= MOST_STALE ? session.stale.splice(0) : [];
  const argv = sessionArgv(
    { path: place.shell, isBash: place.isBash },
    {
      stateFolder: place.stateFolder,
      callId,
      nonce: callId,
      candidates: session.candidates,
      cwd: options.cwd ?? "",
      home: place.cwd,
      names: ownNames(deps, options.env ?? {}),
      stale,
      command: isLong ? { file } : { text: command },
      isKept: start.isKept,
    },
  );
  const launched = await place.launch({
    callId,
    argv,
    env: options.env ?? {},
    hasStdin: options.stdin !== undefined,
    ...(start.keepBytes !== undefined && { keepBytes: start.keepBytes }),
    ...(options.pty && { pty: options.pty }),
  });
  hold(live, launched);
  return launched;
}

/** Until nothing holds it any more; it does not keep this process alive. */
function hold(live: Set<Launched>, launched: Launched): void {
  live.add(launched);
  const streams = [launched.stdout, launched.stderr].map(
    (stream) => new Promise<void>((resolve) => (stream ? void stream.once("close", resolve) : resolve())),
  );
  void Promise.all([...streams, launched.exited]).then(() => void live.delete(launched));
}

/** Names of variables that are not the session's (I2). */
function ownNames(deps: EnvironmentDeps, env: Readonly<Record<string, string>>): string[] {
  const marks = Object.keys(deps.env).filter((name) => name.startsWith("NIGHTSHIFT_"));
  return [...new Set([...marks, "NIGHTSHIFT_ENVIRONMENT_ID", "NIGHTSHIFT_CALL_ID", ...Object.keys(env)])];
}

function refuseNul(command: string, env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name.startsWith("NIGHTSHIFT_"))
      throw new Fault("input.invalid", `${JSON.stringify(name)} cannot be a command's variable`, {
        hint: "Use letters, digits and _, not starting with a digit nor with NIGHTSHIFT_.",
      });
  if ([command, ...Object.values(env)].some((text) => text.includes("\0")))
    throw new Fault("input.invalid", "the command or one of its variables holds a NUL byte", {
      hint: "No shell takes NUL in a command: pass it through stdin, or write printf '\\000'.",
    });
}

async function spawn(opened: Opened, command: string, options: SpawnOptions): Promise<SpawnedCommand> {
  const { deps, place } = opened;
  options.signal.throwIfAborted();
  const callId = deps.newId();
  const launched = await launch(opened, {
    command,
    callId,
    options: { ...options, stdin: "pipe" },
    isKept: false,
  });
  const end = (graceMs?: number) =>
    place.end(callId, { graceMs: graceMs ?? deps.graceMs ?? DEFAULT_GRACE_MS, launched });
  return spawnedOver(launched, { nonce: callId, cwd: options.cwd ?? opened.session.cwd, end });
}
