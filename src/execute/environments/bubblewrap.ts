// Walls around local commands by bubblewrap: hiding folders (S1), or a sandbox without a network.
//
// I1. Both come with a process namespace of their own: /proc shows no other process, so neither another process's
//     environment nor, through /proc/<pid>/root, what is hidden can be read. What a command leaves running ends with it.
// I2. Nothing is run inside before a probe has shown that the walls stand here. Walls that fail later fail closed: the
//     command does not run.

import { execFile } from "node:child_process";
import { realpath } from "node:fs/promises";
import { promisify } from "node:util";

export interface Walls {
  /** `hide` = the whole machine but some folders; `sandbox` = read-only, no network, private /tmp. */
  kind: "hide" | "sandbox";
  hidden: readonly string[];
  /** Writable, also below what is hidden. */
  shown: readonly string[];
  /** Seen below what is hidden, and not to be changed. */
  readable?: readonly string[];
  /** What stands in for /tmp in a sandbox: it lives as long as the environment. */
  privateTmp?: string;
}

/** Why these walls cannot stand on this machine; undefined when they can. */
export type ProbeWalls = (walls: Walls, env: Readonly<Record<string, string>>) => Promise<string | undefined>;

/**
 * A probe that looks once for each kind of walls and PATH: one per node. Only that they stand is remembered; what kept
 * them from standing may pass.
 */
export function makeWallsProbe(probe: ProbeWalls = whyNoWalls): ProbeWalls {
  const stood = new Set<string>();
  return async (walls, env) => {
    const key = `${walls.kind} ${env.PATH}`;
    if (stood.has(key)) return undefined;
    const why = await probe(walls, env);
    if (why === undefined) stood.add(key);
    return why;
  };
}

/** The words in front of every command, none when the walls cannot stand; and why not. Folders that are not there count for nothing. */
export async function standWalls(
  walls: Walls,
  { env, probe = whyNoWalls }: { env: Readonly<Record<string, string>>; probe?: ProbeWalls | undefined },
): Promise<{ prefix: readonly string[]; why: string | undefined }> {
  const [hidden, shown, readable] = await Promise.all(
    [walls.hidden, walls.shown, walls.readable ?? []].map(existing),
  );
  const resolved = { ...walls, hidden: hidden ?? [], shown: shown ?? [], readable: readable ?? [] };
  const why = await probe(resolved, env);
  return { prefix: why === undefined ? bubblewrapArgv(resolved) : [], why };
}

/** Links are followed: a mount needs the place itself. */
async function existing(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  return [...new Set(found.filter((folder) => folder !== undefined))];
}

function bubblewrapArgv({ kind, hidden, shown, readable = [], privateTmp }: Walls): string[] {
  const base =
    kind === "hide"
      ? ["--dev-bind", "/", "/", "--unshare-user", "--unshare-pid"]
      : ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all"];
  const tmp = privateTmp === undefined ? ["--tmpfs", "/tmp"] : ["--bind", privateTmp, "/tmp"];
  return [
    "bwrap",
    ...base,
    "--proc",
    "/proc",
    ...(kind === "sandbox" ? tmp : []),
    ...hidden.flatMap((folder) => ["--tmpfs", folder]),
    ...readable.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...shown.flatMap((folder) => ["--bind", folder, folder]),
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--new-session",
    "--",
  ];
}

/** Why these walls cannot stand on this machine; undefined when they can. */
export async function whyNoWalls(
  walls: Walls,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const [program = "", ...args] = [...bubblewrapArgv(walls), "/bin/sh", "-c", ":"];
  try {
    await promisify(execFile)(program, args, { env, timeout: 10_000 });
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (code === "ENOENT") return "bubblewrap (bwrap) is not installed";
    return `bubblewrap cannot work here: ${(stderr ?? "").trim() || String(error)}`;
  }
}
