// Other spellings of a workflow's keys, for people who come from other tools: `steps:` or `jobs:` for `tasks:`, a map of
// tasks by id, `needs`/`depends`, `command`, `run` inside a task (W1).
//
// I1. Nothing is guessed: an alias beside its canonical key stays and is refused as unknown.
// I2. `sourcePath` says where a canonical path stands in the text, so that mistakes keep their line and column.

import { camelCase } from "./snake-case.ts";
import type { ValuePath } from "./yaml-text.ts";

const ROOT_ALIASES = ["steps", "jobs"] as const;
const TASK_ALIASES: Readonly<Record<string, string>> = {
  depends: "dependsOn",
  needs: "dependsOn",
  command: "shell",
  run: "shell",
};

export interface CanonicalKeys {
  value: Record<string, unknown>;
  sourcePath(path: ValuePath): ValuePath;
}

/** A copy in which aliases are spelled as we spell them. Values are not looked at. */
export function withoutAliases(root: Record<string, unknown>): CanonicalKeys {
  const alias = root.tasks === undefined ? ROOT_ALIASES.find((key) => root[key] !== undefined) : undefined;
  const rootKey = alias ?? "tasks";
  const listed = root[rootKey];
  const ids = isMap(listed) ? Object.keys(listed) : undefined;
  const sources = isMap(listed) ? Object.values(listed) : Array.isArray(listed) ? listed : [];
  const tasks = sources.map((task: unknown, index) => canonicalTask(task, ids?.[index]));
  const isList = ids !== undefined || Array.isArray(listed);
  const entries = Object.entries(root).map(([key, value]): [string, unknown] =>
    key === rootKey ? ["tasks", isList ? tasks.map((task) => task.value) : value] : [key, value],
  );
  const sourcePath = (path: ValuePath): ValuePath => {
    const [first, index, key, ...rest] = path;
    if (first !== "tasks" || typeof index !== "number") return first === "tasks" ? [rootKey] : path;
    const task = [rootKey, ids?.[index] ?? index];
    return key === undefined ? task : [...task, tasks[index]?.sourceKey(String(key)) ?? key, ...rest];
  };
  return { value: Object.fromEntries(entries), sourcePath };
}

interface CanonicalTask {
  value: unknown;
  sourceKey(key: string): string;
}

function canonicalTask(task: unknown, id: string | undefined): CanonicalTask {
  if (!isMap(task)) return { value: task, sourceKey: (key) => key };
  const known = new Set(Object.keys(task).map(camelCase));
  const used = new Map<string, string>();
  const entries = Object.entries(task).map(([key, value]): [string, unknown] => {
    const canonical = Object.hasOwn(TASK_ALIASES, key) ? TASK_ALIASES[key] : undefined;
    if (canonical === undefined || known.has(canonical) || used.has(canonical)) return [key, value];
    used.set(canonical, key);
    return [canonical, value];
  });
  const named = id === undefined || task.id !== undefined ? entries : [["id", id] as const, ...entries];
  return { value: Object.fromEntries(named), sourceKey: (key) => used.get(key) ?? key };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
