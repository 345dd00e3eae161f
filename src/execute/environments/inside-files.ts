// Files inside a place that only a shell can reach: read and written whole, through `cat`.
//
// I1. A file is written beside its name and moved over it: whole or not at all. A link is followed, a mode is kept.
// I2. What went wrong is told by exit codes of our own script, never by reading messages.

import { Fault } from "../../kernel/errors.ts";
import { DEFAULT_GRACE_MS, type EnvironmentDeps, type Place } from "./place.ts";
import { type CallEnd, DEFAULT_MAX_BYTES, runCall } from "./run-call.ts";

/** Largest file read without a `maxBytes`. */
export const DEFAULT_READ_BYTES = 64_000_000;
const MISSING = 91;
const NO_FILE = 92;
const TOO_LARGE = 93;
const UNREADABLE = 94;

/** Shell text that says by its exit code whether $1 can be read and has at most $2 bytes. */
export const LOOK = `[ -e "$1" ] || exit ${MISSING}
[ -f "$1" ] || exit ${NO_FILE}
[ -r "$1" ] || exit ${UNREADABLE}
size=$(wc -c <"$1") || exit ${UNREADABLE}
[ "$size" -le "$2" ] || exit ${TOO_LARGE}`;

const READ = `${LOOK}
exec cat -- "$1"`;

/** $1 path, $2 mode or empty, $3 suffix, $4 bytes. A link's target is replaced, not the link. */
const writeScript = (take: string) => `path=$1
[ ! -d "$path" ] || exit ${NO_FILE}
if [ -L "$path" ]; then path=$(readlink -f -- "$path") || exit ${NO_FILE}; fi
case $path in */*) folder=\${path%/*} ;; *) folder=. ;; esac
umask 022
mkdir -p -- "\${folder:-/}" || exit ${UNREADABLE}
new=$path.$3
trap 'rm -f -- "$new"' EXIT
( umask 077; ${take} ) || exit ${UNREADABLE}
[ "$(wc -c <"$new")" -eq "$4" ] || exit ${UNREADABLE}
mode=$2
[ -n "$mode" ] || mode=$(stat -c %a -- "$path" 2>/dev/null || stat -f %Lp -- "$path" 2>/dev/null) || mode=644
chmod "\${mode:-644}" "$new" && mv -f -- "$new" "$path" || exit ${UNREADABLE}
trap - EXIT`;
const WRITE = writeScript('cat >"$new"');
/** Shell text that makes the file $1 of what lies at $5 already. */
export const MOVE = writeScript('mv -f -- "$5" "$new"');

export interface InsideScript {
  script: string;
  args: readonly string[];
  signal: AbortSignal;
  stdin?: Uint8Array;
  maxBytes?: number;
  timeoutMs?: number;
}

/** Runs a script of ours inside, outside any session. Throws the place's fault when it is gone. */
export async function runInside(deps: EnvironmentDeps, place: Place, run: InsideScript): Promise<CallEnd> {
  run.signal.throwIfAborted();
  const callId = deps.newId();
  const launched = await place.launch({
    callId,
    argv: ["sh", "-c", run.script, "sh", ...run.args],
    env: {},
    hasStdin: run.stdin !== undefined,
    keepBytes: run.maxBytes ?? DEFAULT_MAX_BYTES,
  });
  const end = await runCall(
    { clock: deps.clock, graceMs: deps.graceMs ?? DEFAULT_GRACE_MS, cpuSampleMs: 60_000 },
    place,
    { callId, nonce: callId, launched, options: run },
  );
  if (end.why === "interrupt") run.signal.throwIfAborted();
  const lost = end.why === "exit" ? await place.whyLost(await launched.exited) : undefined;
  if (lost) throw lost;
  return end;
}

/** The file's bytes. Throws `environment.file-missing`, `environment.file-refused`. */
export async function readInside(
  deps: EnvironmentDeps,
  place: Place,
  read: { path: string; signal: AbortSignal; maxBytes?: number },
): Promise<Uint8Array> {
  refuseBadPath(read.path);
  const maxBytes = read.maxBytes ?? DEFAULT_READ_BYTES;
  const end = await runInside(deps, place, {
    script: READ,
    args: [read.path, String(maxBytes)],
    signal: read.signal,
    maxBytes: maxBytes + 1,
  });
  if (end.exitCode === 0) return end.stdout;
  throw fileFault(place.label, { path: read.path, ...toldBy(end), what: "read", maxBytes });
}

/** Writes the file whole. Throws `environment.file-refused`. */
export async function writeInside(
  deps: EnvironmentDeps,
  place: Place,
  write: { path: string; data: Uint8Array; signal: AbortSignal; mode?: number },
): Promise<void> {
  refuseBadPath(write.path);
  const mode = write.mode === undefined ? "" : (write.mode & 0o7777).toString(8);
  const end = await runInside(deps, place, {
    script: WRITE,
    args: [write.path, mode, `nightshift-${deps.newId()}`, String(write.data.length)],
    signal: write.signal,
    stdin: write.data,
  });
  if (end.exitCode !== 0)
    throw fileFault(place.label, { path: write.path, ...toldBy(end), what: "written", maxBytes: 0 });
}

const toldBy = ({ exitCode, stderr }: CallEnd) => ({ exitCode, said: Buffer.from(stderr).toString("utf8") });

/** Throws `environment.file-refused` for what can name no file. */
export function refuseBadPath(path: string): void {
  if (path !== "" && !path.includes("\0")) return;
  throw new Fault("environment.file-refused", "a path is empty or holds a NUL byte", {
    hint: "Give the path of a file.",
  });
}

/** The fault that an exit code of these scripts stands for. */
export function fileFault(
  label: string,
  at: { path: string; exitCode: number; said: string; what: string; maxBytes: number },
): Fault {
  const { path, exitCode, what, maxBytes } = at;
  const said = at.said.trim().split("\n").at(-1);
  switch (exitCode) {
    case MISSING:
      return new Fault("environment.file-missing", `${path} does not exist in ${label}`, {
        hint: "Look at the folder first.",
      });
    case NO_FILE:
      return new Fault("environment.file-refused", `${path} is no plain file`, {
        hint: "Name a file, not a folder or a device.",
      });
    case TOO_LARGE:
      return new Fault("environment.file-refused", `${path} is larger than ${maxBytes} bytes`, {
        hint: "Read a part of it with a command such as head or tail.",
      });
    default:
      return new Fault("environment.file-refused", `${path} cannot be ${what}${said ? `: ${said}` : ""}`, {
        hint: "Look at its permissions and at the space left.",
      });
  }
}
