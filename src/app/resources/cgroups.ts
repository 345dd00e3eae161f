// How much of the machine this process's control group may use: cgroups v2 and v1, the tightest of all levels.

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Undefined = no limit. */
export interface GroupLimits {
  cpu: number | undefined;
  memory: MemoryLimit | undefined;
}

interface MemoryLimit {
  limitBytes: number;
  /** What the group may still take. */
  leftBytes: number;
}

export interface GroupFolders {
  /** Default `/proc`. */
  proc: string;
  /** Default `/sys/fs/cgroup`. */
  cgroup: string;
}

const LINUX: GroupFolders = { proc: "/proc", cgroup: "/sys/fs/cgroup" };
/** v1 writes "no limit" as a number beyond any machine. @source kernel: PAGE_COUNTER_MAX, rounded to pages */
const NO_LIMIT_BYTES = 2 ** 60;

/** No limits where there are no control groups. Never throws. */
export async function readGroupLimits(folders: GroupFolders = LINUX): Promise<GroupLimits> {
  const text = await read(join(folders.proc, "self/cgroup"));
  const groups = (text ?? "").split("\n").flatMap((line) => {
    const [, controllers = "", path] = line.split(":");
    return path === undefined ? [] : [{ controllers: controllers.split(","), path }];
  });
  const pathOf = (controller: string) =>
    groups.find(({ controllers }) => controllers.includes(controller))?.path;
  const unified = pathOf("");
  const [newCpu, newMemory, oldCpu, oldMemory] = await Promise.all([
    unified === undefined ? [] : perLevel(folders.cgroup, unified, cpuOfV2),
    unified === undefined ? [] : perLevel(folders.cgroup, unified, memoryOfV2),
    oldLevels(folders, pathOf("cpu"), ["cpu,cpuacct", "cpu"], cpuOfV1),
    oldLevels(folders, pathOf("memory"), ["memory"], memoryOfV1),
  ]);
  const cpus = [...newCpu, ...oldCpu];
  const memories = [...newMemory, ...oldMemory];
  const least = (of: (one: MemoryLimit) => number) => Math.min(...memories.map(of));
  return {
    cpu: cpus.length > 0 ? Math.min(...cpus) : undefined,
    // What is tightest in all need not be what has least left.
    memory:
      memories.length > 0
        ? { limitBytes: least((one) => one.limitBytes), leftBytes: least((one) => one.leftBytes) }
        : undefined,
  };
}

/** One controller of v1, below whichever of its names is mounted. */
async function oldLevels<Value>(
  { cgroup }: GroupFolders,
  path: string | undefined,
  names: readonly string[],
  of: (folder: string) => Promise<Value | undefined>,
): Promise<Value[]> {
  if (path === undefined) return [];
  const found = await Promise.all(names.map((name) => perLevel(join(cgroup, name), path, of)));
  return found.flat();
}

/** A group and all above it. In a container the path may be the host's, and only the root is there to be seen. */
async function perLevel<Value>(
  root: string,
  path: string,
  of: (folder: string) => Promise<Value | undefined>,
): Promise<Value[]> {
  const folders: string[] = [];
  for (let at = path; at !== "/" && at !== "."; at = dirname(at)) folders.push(join(root, at));
  const values = await Promise.all([...folders, root].map(of));
  return values.filter((value) => value !== undefined);
}

/** `200000 100000` = two cores; `max 100000` = no limit. */
async function cpuOfV2(folder: string): Promise<number | undefined> {
  const [quota, period] = ((await read(join(folder, "cpu.max"))) ?? "").trim().split(/\s+/).map(Number);
  return quota && period ? quota / period : undefined;
}

async function cpuOfV1(folder: string): Promise<number | undefined> {
  const quota = await readNumber(join(folder, "cpu.cfs_quota_us"));
  const period = await readNumber(join(folder, "cpu.cfs_period_us"));
  return quota && period && quota > 0 ? quota / period : undefined;
}

async function memoryOfV2(folder: string): Promise<MemoryLimit | undefined> {
  const [limit, used] = await numbers(folder, "memory.max", "memory.current");
  return memoryOf(folder, limit, used, /^inactive_file (\d+)$/m);
}

async function memoryOfV1(folder: string): Promise<MemoryLimit | undefined> {
  const [limit, used] = await numbers(folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
  return memoryOf(folder, limit, used, /^total_inactive_file (\d+)$/m);
}

/** The cache of files that nobody has used lately is given back as soon as anybody needs it. */
async function memoryOf(
  folder: string,
  limitBytes: number | undefined,
  used: number | undefined,
  cache: RegExp,
): Promise<MemoryLimit | undefined> {
  if (limitBytes === undefined || limitBytes >= NO_LIMIT_BYTES) return undefined;
  const cached = Number(cache.exec((await read(join(folder, "memory.stat"))) ?? "")?.[1] ?? 0);
  return { limitBytes, leftBytes: Math.max(0, limitBytes - Math.max(0, (used ?? 0) - cached)) };
}

function numbers(folder: string, ...names: string[]): Promise<(number | undefined)[]> {
  return Promise.all(names.map((name) => readNumber(join(folder, name))));
}

async function readNumber(file: string): Promise<number | undefined> {
  const text = (await read(file))?.trim();
  const value = Number(text);
  return text === undefined || text === "" || Number.isNaN(value) ? undefined : value;
}

function read(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}
