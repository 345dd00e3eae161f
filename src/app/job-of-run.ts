// Whose work a run does: its job's, by the version it was planned with, or its own where it has no job.

import type { Definition } from "../records/definition.ts";
import type { Job, JobDocument } from "../records/job.ts";
import type { Run } from "../records/run.ts";
import type { Context } from "./context.ts";
import { secretsOf, withSecrets } from "./workflows/secret-stand-ins.ts";

/** What a claimed row tells of its work. */
export interface RunWithDefinition {
  run: Pick<Run, "input" | "createdAt">;
  definition: Definition | undefined;
}

export type JobParsers = Pick<Context, "parseJob" | "resolveDocument" | "zone" | "variable">;

/** Undefined = there is neither a definition nor a work of its own. Throws `job.invalid` for what this version cannot read, `input.refused` for a secret that this node has not. */
export function jobOfRun(context: JobParsers, { run, definition }: RunWithDefinition): Job | undefined {
  if (definition) return context.parseJob(definition);
  if (run.input === undefined) return undefined;
  // Written by who queued it, checked and with its zone; secrets are filled in here, by who runs it.
  const document = JSON.parse(withSecrets(run.input, secretsOf(context))) as JobDocument;
  return context.resolveDocument(document, {
    zone: context.zone,
    anchor: run.createdAt,
    now: run.createdAt,
  });
}

/** The same for those who can do without: a document that cannot be read is refused by the run's own preflight. */
export function jobOfRunOrNothing(context: JobParsers, one: RunWithDefinition): Job | undefined {
  try {
    return jobOfRun(context, one);
  } catch {
    return undefined;
  }
}
