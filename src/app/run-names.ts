// What a row of a workflow is called: its work, and its unit.

import type { Run } from "../records/run.ts";

/** The id that stands first in the document of its work, without reading the rest: it may hold a whole workflow. */
export function workName({ input }: Run): string | null {
  return (input && /^\{"id":"((?:[^"\\]|\\.)*)"/.exec(input)?.[1]) ?? null;
}

/** The unit of a workflow that a row belongs to; undefined for a row of something else. @source SEMANTICS L2: `parent/<run>/<unit>` */
export function unitOf(run: Pick<Run, "dedupeKey" | "parentId">): string | undefined {
  const head = `parent/${run.parentId}/`;
  return run.dedupeKey.startsWith(head) ? run.dedupeKey.slice(head.length) : undefined;
}
