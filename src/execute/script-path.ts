// Which file a script's path means, and what runs it (DESIGN §6).
//
// I1. A script resolves inside the scripts folder or not at all; links are followed before that is judged.
// I2. A home is local (L4), so its files are read at once: each hop through the thread pool would cost ten times the call.
// I3. The interpreter is the shebang's, else the ending's; both are looked up before anything is spawned.

import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { extname, isAbsolute, join, sep } from "node:path";
import { Fault } from "../kernel/errors.ts";
import { findCommand } from "./find-command.ts";
import { parseShebang } from "./shebang.ts";

/** The Node that runs JavaScript and TypeScript scripts. */
export interface NodeProgram {
  path: string;
  /** e.g. `22.11.0`. */
  version: string;
}

export interface Interpreter {
  /** Absolute path of the program. */
  command: string;
  /** What stands between the program and the script's path. */
  args: string[];
}

/** Endings that name an interpreter where there is no shebang. */
export const SCRIPT_ENDINGS = [".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts"] as const;

/**
 * The absolute path of `path` inside `scriptsFolder`. Throws `script.path` (absolute, `~`, `..`, NUL, outside through
 * a link, a folder) or `script.missing`.
 */
export async function resolveScript(scriptsFolder: string, path: string): Promise<string> {
  const why = refusal(path);
  if (why) throw pathFault(path, why, scriptsFolder);
  let folder: string;
  let resolved: string;
  try {
    folder = realpathSync.native(scriptsFolder);
    resolved = realpathSync.native(join(folder, path));
  } catch (cause) {
    throw new Fault("script.missing", `script ${JSON.stringify(path)} does not exist`, {
      hint: `Put it at ${join(scriptsFolder, path)}.`,
      cause,
    });
  }
  if (!resolved.startsWith(folder + sep))
    throw pathFault(path, "leads out of the scripts folder", scriptsFolder);
  if (!statSync(resolved).isFile()) throw pathFault(path, "is not a file", scriptsFolder);
  return resolved;
}

/** A script as it will run: its bytes' digest (D5) and what runs it. */
export interface ReadScript {
  /** sha256, hex. */
  sha256: string;
  interpreter: Interpreter;
}

/**
 * Reads a resolved script once and says what runs it. Throws `script.path` (nothing names an interpreter) or
 * `script.missing` (it cannot be read, or its interpreter is not installed here).
 */
export async function readScript(resolved: string, machine: Machine): Promise<ReadScript> {
  const bytes = readBytes(resolved);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const head = bytes.subarray(0, 1_024).toString("latin1");
  return { sha256, interpreter: await interpreterFor(resolved, head, machine) };
}

/** Where interpreters are looked for. */
export interface Machine {
  searchPath: string;
  node: NodeProgram;
}

/** What runs a script that starts with `head`: the shebang's program, else the ending's. Throws as `readScript`. */
export async function interpreterFor(resolved: string, head: string, machine: Machine): Promise<Interpreter> {
  const shebang = parseShebang(head);
  if (shebang) return installed([shebang], machine.searchPath, resolved);
  const ending = extname(resolved).toLowerCase();
  if (ending === ".sh" || ending === ".bash")
    return installed([program("bash"), program("sh")], machine.searchPath, resolved);
  if (ending === ".py") return installed([program("python3")], machine.searchPath, resolved);
  if (ending === ".js" || ending === ".mjs" || ending === ".cjs")
    return { command: machine.node.path, args: [] };
  if (ending === ".ts") return { command: machine.node.path, args: typeStripping(machine.node) };
  throw nothingRuns(resolved);
}

function nothingRuns(resolved: string): Fault {
  return new Fault("script.path", `nothing says what runs ${resolved}`, {
    hint: `Give it a first line such as #!/usr/bin/env bash, or one of the endings ${SCRIPT_ENDINGS.join(" ")}.`,
  });
}

/**
 * What may run a script in another place, best first, by the names it has there: what is installed is only known inside.
 * Throws `script.path` when nothing names an interpreter.
 */
export function interpretersElsewhere(resolved: string, head: string): Interpreter[] {
  const shebang = parseShebang(head);
  if (shebang) return [shebang];
  const ending = extname(resolved).toLowerCase();
  if (ending === ".sh" || ending === ".bash") return [program("bash"), program("sh")];
  if (ending === ".py") return [program("python3")];
  if (ending === ".js" || ending === ".mjs" || ending === ".cjs") return [program("node")];
  if (ending === ".ts") return [{ command: "node", args: TYPE_STRIPPING }];
  throw nothingRuns(resolved);
}

/** Understood by every Node since 22.6. */
const TYPE_STRIPPING = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"];

/** Node's options for a TypeScript file. @source Node: the option came with 22.6 and is the default from 22.18 and 23.6. */
export function typeStripping(node: NodeProgram): string[] {
  const [major = 0, minor = 0] = node.version.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 6))
    throw new Fault("script.missing", `Node ${node.version} cannot run TypeScript by itself`, {
      hint: "Run Nightshift with Node 22.6 or newer, or turn the script into .js.",
    });
  if (major > 23 || (major === 22 && minor >= 18) || (major === 23 && minor >= 6)) return [];
  // The warning would be the first line of every alert.
  return [...TYPE_STRIPPING];
}

function refusal(path: string): string | undefined {
  if (path.trim() === "") return "is empty";
  if (path.includes("\0")) return "holds a NUL byte";
  if (isAbsolute(path)) return "is absolute";
  if (path.startsWith("~")) return "starts with ~";
  if (path.split(/[/\\]/).includes("..")) return "holds ..";
  return undefined;
}

function pathFault(path: string, why: string, scriptsFolder: string): Fault {
  return new Fault("script.path", `script path ${JSON.stringify(path)} ${why}`, {
    hint: `Name a file inside ${scriptsFolder}, relative to it.`,
  });
}

/** The bytes of a resolved script. Throws `script.missing`. */
export function readBytes(resolved: string): Buffer {
  try {
    return readFileSync(resolved);
  } catch (cause) {
    throw new Fault("script.missing", `script ${resolved} cannot be read`, {
      hint: "Check that the file is there and readable by the user Nightshift runs as.",
      cause,
    });
  }
}

function program(command: string): Interpreter {
  return { command, args: [] };
}

/** The first candidate that is installed. */
async function installed(
  candidates: readonly Interpreter[],
  searchPath: string,
  script: string,
): Promise<Interpreter> {
  let why = "";
  for (const candidate of candidates) {
    const found = await findCommand(candidate.command, searchPath);
    if (found.kind === "found") return { command: found.path, args: candidate.args };
    why = found.message;
  }
  throw new Fault("script.missing", `the interpreter of ${script} cannot be used: ${why}`, {
    hint: "Install it on this node, or name another one in the script's first line.",
  });
}
