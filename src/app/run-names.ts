// What a row of a workflow is called: its work, and its unit.

import type { Run } from "../records/run.ts";

/**
 * What a row does: the executor of a task, the name of a workflow. Read from the beginning of its document, without the rest:
 * it may hold a whole workflow. Null = a function of a node's process, which has none.
 */
export function workName({ input, admission }: Pick<Run, "input" | "admission">): string | null {
  if (admission?.executor !== undefined) return admission.executor;
  const [, id = null, executor] = (input && BEGINNING.exec(input)) || [];
  return executor ?? id;
}

/** A task of a workflow has a name beside its id: its unit. */
const BEGINNING =
  /^\{"id":"((?:[^"\\]|\\.)*)"(?:,"name":"(?:[^"\\]|\\.)*","run":\{"task":\{"executor":"((?:[^"\\]|\\.)*)")?/;

/** The unit of a workflow that a row belongs to; undefined for a row of something else. @source SEMANTICS L2: `parent/<run>/<unit>` */
export function unitOf(run: Pick<Run, "dedupeKey" | "parentId">): string | undefined {
  const head = `parent/${run.parentId}/`;
  return run.dedupeKey.startsWith(head) ? run.dedupeKey.slice(head.length) : undefined;
}
