// Walls around local commands by bubblewrap: hiding folders (S1), or a sandbox without a network.
//
// I1. Both come with a process namespace of their own: /proc shows no other process, so neither another process's
//     environment nor, through /proc/<pid>/root, what is hidden can be read. What a command leaves running ends with it.
// I2. Nothing is run inside before a probe has shown that the walls stand here.

import { execFile } from "node:child_process";
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

/** The words in front of a command. Paths must exist. */
export function bubblewrapArgv({ kind, hidden, shown, readable = [], privateTmp }: Walls): string[] {
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
