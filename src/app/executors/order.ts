// In which order registrations count: who is first with a name, newest versions first.

import type { Executor, ExecutorProblem } from "../../records/executor.ts";

/** Registrations of every source, the weightiest source first. */
export function settle(sources: readonly (readonly Executor[])[]): {
  executors: Executor[];
  problems: ExecutorProblem[];
} {
  const executors: Executor[] = [];
  const problems: ExecutorProblem[] = [];
  const first = new Map<string, Executor>();
  for (const executor of sources.flat()) {
    const key = keyOf(executor);
    const other = first.get(key);
    if (!other) {
      first.set(key, executor);
      executors.push(executor);
    } else if (executor.source !== "built in")
      problems.push({
        source: executor.source,
        error: `${executor.name} (version ${executor.version}) is registered already in ${other.source}; that one counts`,
      });
  }
  return { executors: sorted(withoutReplaced(executors)), problems };
}

/** What tells registrations of one name apart. */
function keyOf({ name, version, kind, contract }: Executor): string {
  return JSON.stringify([name, version, contract.resources, kind === "remote"]);
}

/** A person's own `shell_exec` replaces ours, whatever its version. */
function withoutReplaced(executors: readonly Executor[]): Executor[] {
  const own = new Set(executors.filter(({ source }) => source !== "built in").map(({ name }) => name));
  return executors.filter(({ name, source }) => source !== "built in" || !own.has(name));
}

function sorted(executors: readonly Executor[]): Executor[] {
  return [...executors].sort((a, b) =>
    a.name === b.name ? compareVersions(b.version, a.version) : a.name < b.name ? -1 : 1,
  );
}

/** `v2.10.0` is newer than `v2.9`; words compare as words, and a number is newer than a word. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [x, y] = [left[at], right[at]];
    if (x === y) continue;
    if (x === undefined) return typeof y === "number" ? -1 : 1;
    if (y === undefined) return typeof x === "number" ? 1 : -1;
    if (typeof x === "number" && typeof y === "number") return x - y;
    if (typeof x === "number") return 1;
    if (typeof y === "number") return -1;
    return x < y ? -1 : 1;
  }
  return 0;
}

function partsOf(version: string): (number | string)[] {
  const parts = version.replace(/^v(?=\d)/i, "").match(/\d+|[a-z]+/gi) ?? [];
  return parts.map((part) => (/^\d/.test(part) ? Number(part) : part.toLowerCase()));
}
