// Python files read by Python itself, without a line of them having run (python-worker.py `scan`).

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_PATH } from "../../execute/command-env.ts";
import { messageOf } from "../../kernel/errors.ts";
import { SECOND } from "../../kernel/time.ts";
import { pythonWorkerFile } from "../../orchestrate/executors/python-protocol.ts";
import type { ScannedFile } from "../../orchestrate/executors/python-scan.ts";
import type { Context } from "../context.ts";
import type { PythonPlace } from "./python-workers.ts";

export interface ScanRequest {
  files: readonly string[];
  modules: readonly { module: string; folders: readonly string[] }[];
}

export interface ScanAnswer {
  files: ScannedFile[];
  modules: { module: string; path: string | null; file: ScannedFile | null }[];
  /** Python's own path: a name on PATH may be a shim that takes longer than Python itself. */
  executable: string;
}

const SCAN_MS = 20 * SECOND;

/** The home's own virtual environment, else the machine's. */
export function pythonPlace({ home, env }: Pick<Context, "home" | "env">): PythonPlace {
  const { root, executorsFolder } = home.paths;
  const venv = [join(executorsFolder, ".venv"), join(root, ".venv")].find((folder) =>
    existsSync(join(folder, "bin", "python3")),
  );
  return {
    python: venv === undefined ? "python3" : join(venv, "bin", "python3"),
    cwd: executorsFolder,
    env: pythonEnv(env),
  };
}

/** S2's allow-list, and where Python looks for modules. */
function pythonEnv(nodeEnv: Context["env"]): Record<string, string> {
  const env: Record<string, string> = { PATH: nodeEnv.PATH || DEFAULT_PATH, PYTHONUNBUFFERED: "1" };
  for (const [name, value] of Object.entries(nodeEnv)) {
    const isAllowed = /^(HOME|USER|LANG|TMPDIR|LC_\w+|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV)$/.test(name);
    if (isAllowed && value !== undefined) env[name] = value;
  }
  return env;
}

/** Reads files. The text says why nothing could be read (no Python here). */
export async function scanPython(place: PythonPlace, request: ScanRequest): Promise<ScanAnswer | string> {
  if (request.files.length === 0 && request.modules.length === 0)
    return { files: [], modules: [], executable: "" };
  const child = spawn(place.python, [pythonWorkerFile(), "scan"], {
    cwd: place.cwd,
    env: { ...place.env },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: SCAN_MS,
    killSignal: "SIGKILL",
  });
  const collect = (stream: NodeJS.ReadableStream) => {
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (part: string) => {
      text += part;
    });
    return () => text;
  };
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(request));
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(`${place.python} cannot be started: ${error.message}`));
    child.once("close", (code) => resolve(code === 0 ? undefined : `${place.python}: ${lastLine(stderr())}`));
  });
  if (failure !== undefined) return failure;
  try {
    return JSON.parse(stdout()) as ScanAnswer;
  } catch (error) {
    return `${place.python}: ${messageOf(error)}`;
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "it ended without an answer";
}
