// Whether this node can prepare a run at all (L12): on a shared database each node has its own scripts folder.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_PATH } from "../execute/command-env.ts";
import { missingProgram } from "../execute/environments/programs.ts";
import type { Job } from "../records/job.ts";
import type { PassRequest } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import { environmentOf } from "./environments.ts";
import { jobOfRun } from "./job-of-run.ts";

/**
 * What the node lacks for a run, or undefined. Only on PostgreSQL: nodes of one home share its scripts, there a missing
 * script blocks the run instead of leaving it to a node that does not exist.
 */
export function cannotPrepare(context: Context): PassRequest["cannotPrepare"] {
  if (context.ledger.engine === "sqlite") return () => undefined;
  return (run, definition) => {
    try {
      // A workflow that has begun goes on from its journal.
      if (run.kind === "workflow" && run.startedAt !== undefined) return undefined;
      const job = jobOfRun(context, { run, definition });
      if (!job) return undefined;
      return missingExecutor(context, job) ?? missingScript(context, job) ?? missingPlace(context, job);
    } catch {
      // A document this node cannot read is better refused loudly by the run's own preflight.
      return undefined;
    }
  };
}

/** What the registry knew when it last looked; before that a run's own preflight looks. */
function missingExecutor({ executors, work: table }: Context, { work }: Job): string | undefined {
  if (work.kind !== "task" || table.task || executors.knows(work.executor) !== false) return undefined;
  return `the executor ${work.executor} is not here`;
}

function missingScript(context: Context, { work }: Job): string | undefined {
  const { scriptPlace } = context;
  if (work.kind === "workflow") return missingWorkflow(context, work.workflow);
  const script = work.kind === "script" ? work.script : work.kind === "agent" ? work.agent.script : undefined;
  if (script === undefined || existsSync(join(scriptPlace.scriptsFolder, script))) return undefined;
  return `the script ${script} is not here`;
}

/** One that has begun is in its journal; a path outside the home is judged by the run itself. */
function missingWorkflow({ home }: Context, { file }: Record<string, unknown>): string | undefined {
  if (typeof file !== "string" || file.includes("/")) return undefined;
  const isHere = ["", ".yaml", ".yml", ".json"].some((end) =>
    existsSync(join(home.paths.workflowsFolder, `${file}${end}`)),
  );
  return isHere ? undefined : `the workflow ${file} is not here`;
}

/** Only what can be seen at once: an engine that does not answer blocks the run itself. */
function missingPlace(context: Context, job: Job): string | undefined {
  return missingProgram(environmentOf(context, job), context.env.PATH || DEFAULT_PATH);
}
