// Hard limits of the local backend: control groups where they can be made, else what the shell's ulimit can do.
//
// I1. What is reported is what is enforced, limit by limit; a limit that cannot be is named, never dropped silently.
// I2. A process joins its group by itself, before it becomes the command: no moment is outside of it.
// I3. cgroup v1 has a hierarchy a controller; v2 has one, whose parent must hand the controllers down.
// The v2 branch is written after the kernel's manual and has been exercised on a plain folder only.

import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ResourceLimits } from "../../records/environment-spec.ts";

type LimitName = "cpu" | "memoryMb" | "pids";

export interface LimitsReport {
  /** How each limit that was asked for is enforced. `rlimit` counts memory per process and pids per user. */
  enforced: Partial<Record<LimitName, "cgroup v1" | "cgroup v2" | "rlimit">>;
  notEnforced: LimitName[];
}

export interface AppliedLimits {
  report: LimitsReport;
  /** Shell text that a process runs to come under the limits: both of what follows. Empty = none. */
  join: string;
  /** To come into the control groups. A place that is entered by a program of ours lets that one join. */
  joinGroups: string;
  /** Those that the process sets for itself and what it starts. */
  ulimits: string;
  /** Removes what was made; after the last process is gone. */
  remove(): Promise<void>;
}

const PERIOD_US = 100_000;
const V1_CONTROLLERS = { cpu: "cpu", memoryMb: "memory", pids: "pids" } as const;

/** Makes the limits real as far as this machine lets us. `root` is where control groups are mounted. */
export async function applyLimits(
  limits: ResourceLimits,
  id: string,
  root = "/sys/fs/cgroup",
): Promise<AppliedLimits> {
  const wanted = (Object.keys(V1_CONTROLLERS) as LimitName[]).filter((name) => limits[name] !== undefined);
  const made: string[] = [];
  const report: LimitsReport = { enforced: {}, notEnforced: [] };
  const ulimits: string[] = [];
  const isV2 = existsSync(join(root, "cgroup.controllers"));
  for (const name of wanted) {
    const value = limits[name] ?? 0;
    const folder = isV2 ? await makeV2(root, id, { name, value }) : await makeV1(root, id, { name, value });
    if (folder) {
      if (!made.includes(folder)) made.push(folder);
      report.enforced[name] = isV2 ? "cgroup v2" : "cgroup v1";
    } else if (name === "cpu") report.notEnforced.push(name);
    else {
      ulimits.push(name === "memoryMb" ? `ulimit -v ${value * 1_024}` : `ulimit -u ${value}`);
      report.enforced[name] = "rlimit";
    }
  }
  const groups = made.map((folder) => `echo $$ >'${join(folder, "cgroup.procs")}' || exit 125`);
  const own = ulimits.map((text) => `${text} || exit 125`);
  return {
    report,
    join: [...groups, ...own].join("\n"),
    joinGroups: groups.join("\n"),
    ulimits: own.join("\n"),
    async remove() {
      for (const folder of made) await rmdir(folder).catch(() => {});
    },
  };
}

interface Limit {
  name: LimitName;
  value: number;
}

async function makeV1(root: string, id: string, { name, value }: Limit): Promise<string | undefined> {
  const folder = join(root, V1_CONTROLLERS[name], `nightshift-${id}`);
  const settings: Record<LimitName, [string, string][]> = {
    cpu: [
      ["cpu.cfs_period_us", String(PERIOD_US)],
      ["cpu.cfs_quota_us", String(Math.round(value * PERIOD_US))],
    ],
    memoryMb: [["memory.limit_in_bytes", String(value * 1_048_576)]],
    pids: [["pids.max", String(value)]],
  };
  return tryToSet(folder, settings[name]);
}

async function makeV2(root: string, id: string, { name, value }: Limit): Promise<string | undefined> {
  const controller = V1_CONTROLLERS[name];
  const parent = join(root, ownV2Group());
  const available = await readFile(join(parent, "cgroup.subtree_control"), "utf8").catch(() => "");
  if (!available.split(/\s+/).includes(controller)) {
    // Allowed only where no process sits in the parent itself: a delegated, empty group.
    const isGiven = await writeFile(join(parent, "cgroup.subtree_control"), `+${controller}`).then(
      () => true,
      () => false,
    );
    if (!isGiven) return undefined;
  }
  const settings: Record<LimitName, [string, string][]> = {
    cpu: [["cpu.max", `${Math.round(value * PERIOD_US)} ${PERIOD_US}`]],
    memoryMb: [
      ["memory.max", String(value * 1_048_576)],
      ["memory.swap.max", "0"],
    ],
    pids: [["pids.max", String(value)]],
  };
  return tryToSet(join(parent, `nightshift-${id}`), settings[name]);
}

/** The parent of the group this process is in: siblings may be made there where it was delegated. */
function ownV2Group(): string {
  try {
    const own = /^0::\/(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "";
    return own.split("/").slice(0, -1).join("/");
  } catch {
    return "";
  }
}

async function tryToSet(folder: string, settings: readonly [string, string][]): Promise<string | undefined> {
  try {
    // Not recursive: the hierarchy is there or it is not, and Node never ends such a call below /proc or /sys.
    await mkdir(folder);
    await setAll(folder, settings);
    return folder;
  } catch (error) {
    // On v2 all limits share one group, which an earlier limit has made.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return setAll(folder, settings);
    await rmdir(folder).catch(() => {});
    return undefined;
  }
}

/** The folder when all could be set. */
async function setAll(folder: string, settings: readonly [string, string][]): Promise<string | undefined> {
  for (const [file, text] of settings) await writeFile(join(folder, file), text);
  return folder;
}
