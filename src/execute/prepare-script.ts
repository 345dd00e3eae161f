// Everything about a script job that can be known before it runs (law 8): used when a job is created, and again
// right before each run.

import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute, join } from "node:path";
import { Fault } from "../kernel/errors.ts";
import type { KeptOutput } from "../records/abort-outcome.ts";
import { DEFAULT_PATH } from "./command-env.ts";
import {
  type Interpreter,
  interpreterFor,
  interpretersElsewhere,
  type NodeProgram,
  readBytes,
  readScript,
  resolveScript,
} from "./script-path.ts";

export interface ScriptWork {
  /** Relative to the scripts folder; of a `command` a name for messages. */
  script: string;
  /** Text for a shell, in place of a file. */
  command?: string | undefined;
  args: readonly string[];
  /** Absolute, or starting with `~/`; undefined = a fresh workspace for the run. */
  workdir: string | undefined;
  /** The job's own variables (S2). */
  env: Readonly<Record<string, string>>;
  timezone: string;
  /** Further variables as they are: nothing in them is followed, and they may begin with NIGHTSHIFT_. */
  literalEnv?: Readonly<Record<string, string>> | undefined;
  /** What set it off, as JSON: the script finds it in the file that $NIGHTSHIFT_EVENT_FILE names (W7). */
  event?: string | undefined;
  /** Told of how it ended by itself. Whoever asks gives the script $NIGHTSHIFT_OUTPUT, a file for its result. */
  onEnd?: ((end: ScriptEnd) => void) | undefined;
}

/** What a script that was not aborted left: redacted, tails of at most what is kept. */
export interface ScriptEnd extends KeptOutput {
  exitCode: number | undefined;
  /** What it wrote to $NIGHTSHIFT_OUTPUT. */
  file: string | undefined;
}

/** The variable that names the file for a script's result. */
export const OUTPUT_VARIABLE = "NIGHTSHIFT_OUTPUT";

/** The variable that names the file with what set a script off, and the file's name in its folder. */
export const EVENT_VARIABLE = "NIGHTSHIFT_EVENT_FILE";
export const EVENT_FILE = "event.json";

/** A result beyond it is cut, and so cannot be read. */
export const MAX_RESULT_BYTES = 1_000_000;

export interface ScriptPlace {
  scriptsFolder: string;
  /** The node's environment: PATH and what the allow-list takes from it. */
  nodeEnv: Readonly<Record<string, string | undefined>>;
  /** A variable of the node or of the home's `.env`. Default: `nodeEnv` alone. */
  variable?: (name: string) => string | undefined;
  node: NodeProgram;
}

export interface PreparedScript {
  /** The script's real path. */
  path: string;
  sha256: string;
  command: string;
  args: string[];
  /** The workdir, checked; undefined = a workspace is wanted. */
  workdir: string | undefined;
}

/** Resolves path, interpreter and workdir. Throws `Fault` `script.path`, `script.missing` or `job.invalid`; spawns nothing. */
export async function prepareScript(place: ScriptPlace, work: ScriptWork): Promise<PreparedScript> {
  if (work.command !== undefined) return prepareCommand(place, { ...work, command: work.command });
  const path = await resolveScript(place.scriptsFolder, work.script);
  const searchPath = searchPathOf(place, work);
  const { interpreter, sha256 } = await readScript(path, { searchPath, node: place.node });
  const workdir = await checkWorkdir(work.workdir, place.nodeEnv.HOME ?? homedir());
  return {
    path,
    sha256,
    command: interpreter.command,
    args: [...interpreter.args, path, ...work.args],
    workdir,
  };
}

async function prepareCommand(
  place: ScriptPlace,
  work: ScriptWork & { command: string },
): Promise<PreparedScript> {
  const machine = { searchPath: searchPathOf(place, work), node: place.node };
  const shell = await interpreterFor(`${work.script}.sh`, "", machine);
  return {
    path: work.script,
    sha256: digestOf(work.command),
    command: shell.command,
    args: ["-c", work.command, work.script, ...work.args],
    workdir: await checkWorkdir(work.workdir, place.nodeEnv.HOME ?? homedir()),
  };
}

const searchPathOf = (place: ScriptPlace, work: ScriptWork) =>
  work.env.PATH ?? work.literalEnv?.PATH ?? (place.nodeEnv.PATH || DEFAULT_PATH);

const digestOf = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

export interface ScriptForElsewhere {
  /** Its file's name, which `$0` ends with inside. */
  name: string;
  bytes: Uint8Array;
  sha256: string;
  /** Best first, by their names inside. */
  interpreters: Interpreter[];
  workdir: string | undefined;
}

/** As `prepareScript`, for a script that is brought into another place: which interpreter it has is only known there. */
export async function prepareForElsewhere(place: ScriptPlace, work: ScriptWork): Promise<ScriptForElsewhere> {
  const isCommand = work.command !== undefined;
  const path = isCommand ? `${work.script}.sh` : await resolveScript(place.scriptsFolder, work.script);
  const bytes = isCommand ? Buffer.from(work.command ?? "") : readBytes(path);
  return {
    name: basename(path),
    bytes,
    sha256: digestOf(bytes),
    interpreters: interpretersElsewhere(path, bytes.subarray(0, 1_024).toString("latin1")),
    workdir: await checkWorkdir(work.workdir, place.nodeEnv.HOME ?? homedir()),
  };
}

/** The folder, absolute and there; undefined when none is named. Throws `job.invalid`. */
export async function checkWorkdir(workdir: string | undefined, home: string): Promise<string | undefined> {
  if (workdir === undefined) return undefined;
  const path = workdir === "~" || workdir.startsWith("~/") ? join(home, workdir.slice(1)) : workdir;
  if (!isAbsolute(path) || path.includes("\0"))
    throw new Fault("job.invalid", `workdir ${JSON.stringify(workdir)} is not an absolute path`, {
      hint: "Write the whole path, or start it with ~/.",
    });
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    throw new Fault("job.invalid", `workdir ${path} is not a folder on this node`, {
      hint: "Create it, or correct `workdir`.",
    });
  return path;
}
