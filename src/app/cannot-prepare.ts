// Whether this node can prepare a run at all (L12): on a shared database each node has its own scripts folder.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PassRequest } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import { jobOfRun } from "./job-of-run.ts";
import { unsupportedWork } from "./work.ts";

/**
 * What the node lacks for a run, or undefined. Only on PostgreSQL: nodes of one home share its scripts, there a missing
 * script blocks the run instead of leaving it to a node that does not exist.
 */
export function cannotPrepare(context: Context): PassRequest["cannotPrepare"] {
  if (context.ledger.engine === "sqlite") return () => undefined;
  return (run, definition) => {
    try {
      const work = jobOfRun(context, { run, definition })?.work;
      if (!work) return undefined;
      if (work.kind !== "script") return unsupportedWork(context.work, work);
      return existsSync(join(context.scriptPlace.scriptsFolder, work.script))
        ? undefined
        : `the script ${work.script} is not here`;
    } catch {
      // A document this node cannot read is better refused loudly by the run's own preflight.
      return undefined;
    }
  };
}
