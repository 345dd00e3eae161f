// Which of a run's processes an id or its beginning means.

import { Fault } from "../../kernel/errors.ts";

/** The whole id. Throws Fault `input.ambiguous` naming the candidates, `process.unknown`. */
export function findId(known: Iterable<string>, id: string): string {
  const ids = [...known];
  if (ids.includes(id)) return id;
  const found = id === "" ? [] : ids.filter((one) => matches(one, id));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (found.length > 1)
    throw new Fault("input.ambiguous", `${found.length} processes begin with ${id}`, {
      hint: `Give more of the id: ${found.join(", ")}.`,
      details: { candidates: found },
    });
  throw new Fault("process.unknown", `this run has no process ${id}`, {
    hint: "List the processes for their ids; finished ones make room for new ones.",
  });
}

/** With or without `proc_`. */
function matches(known: string, prefix: string): boolean {
  return known.startsWith(prefix) || known.startsWith(`proc_${prefix}`);
}
