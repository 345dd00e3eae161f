// A home: the folder in which a person keeps definitions and the program keeps everything else (DESIGN §5).
//
// I1. Folders are made 0700 and files 0600; what exists already is never changed, only warned about.
// I2. The token is made once: two processes that start together end up with the same one.

import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Fault, messageOf } from "../../kernel/errors.ts";
import type { Random } from "../../kernel/ids.ts";
import { codeOf, createFileAtomic } from "./atomic-write.ts";

/** Absolute paths of everything in a home. */
export interface HomePaths {
  root: string;
  configFile: string;
  envFile: string;
  soulFile: string;
  jobsFolder: string;
  trashFolder: string;
  workflowsFolder: string;
  executorsFolder: string;
  scriptsFolder: string;
  skillsFolder: string;
  outputFolder: string;
  workspacesFolder: string;
  logsFolder: string;
  /** Sockets of live nodes (L11). */
  runFolder: string;
  ledgerFile: string;
  tokenFile: string;
}

export interface Home {
  paths: HomePaths;
  /** What the HTTP surface asks for (S5). */
  token: string;
  /** What is usable but not as it should be (permissions), one sentence each. */
  warnings: string[];
}

/** Text and permission bits of a file that may be absent. */
export interface HomeFile {
  text: string;
  mode: number;
}

/** Where everything lies in the home at `path`. Touches nothing. */
export function homePaths(path: string): HomePaths {
  const root = resolve(path);
  const at = (name: string) => join(root, name);
  return {
    root,
    configFile: at("config.yaml"),
    envFile: at(".env"),
    soulFile: at("SOUL.md"),
    jobsFolder: at("jobs"),
    trashFolder: join(root, "jobs", ".trash"),
    workflowsFolder: at("workflows"),
    executorsFolder: at("executors"),
    scriptsFolder: at("scripts"),
    skillsFolder: at("skills"),
    outputFolder: at("output"),
    workspacesFolder: at("workspaces"),
    logsFolder: at("logs"),
    runFolder: at("run"),
    ledgerFile: at("ledger.db"),
    tokenFile: at("token"),
  };
}

/**
 * Opens a home, making what is missing. Idempotent; any number of processes may do so at once.
 * @throws Fault `home.unusable` when the path is no directory or cannot be written, `store.full` on a full disk.
 */
export async function openHome(path: string, deps: { random: Random }): Promise<Home> {
  const paths = homePaths(path);
  await makeFolder(paths.root);
  for (const folder of foldersOf(paths)) await makeFolder(folder);
  await assertWritable(paths.root);
  const token = await openToken(paths.tokenFile, deps.random);
  return { paths, token, warnings: await permissionWarnings(paths) };
}

/** A file of the home, or undefined when there is none. Throws Fault `home.unusable` when it exists and cannot be read. */
export async function readHomeFile(path: string): Promise<HomeFile | undefined> {
  try {
    const [text, { mode }] = [await readFile(path, "utf8"), await stat(path)];
    return { text, mode: mode & 0o777 };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw unusable(
      `cannot read ${path}: ${messageOf(error)}`,
      "Check the file's owner and permissions.",
      error,
    );
  }
}

function foldersOf(paths: HomePaths): string[] {
  return [
    paths.jobsFolder,
    paths.workflowsFolder,
    paths.executorsFolder,
    paths.scriptsFolder,
    paths.skillsFolder,
    paths.outputFolder,
    paths.workspacesFolder,
    paths.logsFolder,
    paths.runFolder,
  ];
}

/** Step by step: Node's own recursive mkdir never ends where a file system answers ENOENT although the parent exists. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const parent = dirname(folder);
    if (codeOf(error) === "ENOENT" && parent !== folder && !(await exists(parent))) {
      await makeFolder(parent);
      return makeFolder(folder);
    }
    if (codeOf(error) !== "EEXIST" && codeOf(error) !== "ENOTDIR")
      throw unusable(
        `cannot make the folder ${folder}: ${messageOf(error)}`,
        "Choose another home with --home or NIGHTSHIFT_HOME, or correct its permissions.",
        error,
      );
    const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory() ?? false;
    if (!isFolder)
      throw unusable(
        `${folder} is not a directory`,
        "Move that file away or choose another home with --home.",
      );
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** Permission bits can lie (read-only mounts, ACLs), so one file is really written. */
async function assertWritable(root: string): Promise<void> {
  const probe = join(root, `.probe-${process.pid}`);
  try {
    await (await open(probe, "w", 0o600)).close();
    // Another process with this pid (in another container) may have been quicker.
    await rm(probe, { force: true });
  } catch (error) {
    throw unusable(
      `the home ${root} cannot be written: ${messageOf(error)}`,
      "Make it writable for this user, or choose another home with --home.",
      error,
    );
  }
}

async function openToken(path: string, random: Random): Promise<string> {
  const present = (await readHomeFile(path))?.text.trim();
  if (present) return present;
  if (present === "") throw unusable(`${path} is empty`, "Delete it; a new token is made at the next start.");
  const token = Buffer.from(random(32)).toString("base64url");
  if (await createFileAtomic(path, `${token}\n`)) return token;
  return openToken(path, random);
}

async function permissionWarnings(paths: HomePaths): Promise<string[]> {
  const expected: [string, "700" | "600"][] = [
    [paths.root, "700"],
    [paths.tokenFile, "600"],
    [paths.envFile, "600"],
    [paths.ledgerFile, "600"],
  ];
  const warnings = await Promise.all(
    expected.map(async ([path, wanted]) => {
      const mode = (await stat(path).catch(() => undefined))?.mode;
      if (mode === undefined || (mode & 0o077) === 0) return undefined;
      return `${path} is open to other users (mode ${(mode & 0o777).toString(8)}); run: chmod ${wanted} ${path}`;
    }),
  );
  return warnings.filter((warning) => warning !== undefined);
}

function unusable(message: string, hint: string, cause?: unknown): Fault {
  return new Fault("home.unusable", message, { hint, cause });
}
