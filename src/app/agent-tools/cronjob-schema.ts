// The schema of `cronjob`: what a model may say. Which model does the work is not among it (upstream.md 1.6).

import * as z from "zod/mini";
import { JOB_STATES } from "../documents.ts";

export const CRONJOB_ACTIONS = [
  "create",
  "list",
  "show",
  "update",
  "remove",
  "pause",
  "resume",
  "run",
] as const;

const text = (description: string) => z.optional(z.string().check(z.minLength(1), z.describe(description)));
const list = (description: string) => z.optional(z.array(z.string()).check(z.describe(description)));

export const cronjobSchema = z
  .strictObject({
    action: z.enum(CRONJOB_ACTIONS),
    id: text("Which job: its id or name. create: the id it shall have, a slug; left out, it is made."),
    name: text("create, update: a title for people."),
    description: text("create, update: what it is for."),
    schedule: text("create, update: when."),
    timezone: text("create, update: IANA zone of the schedule."),
    prompt: text("create, update: what the agent shall do, complete in itself."),
    script: text("create, update: a file in the home's scripts/ folder."),
    args: list("create, update: arguments of a script job."),
    noAgent: z.optional(z.boolean().check(z.describe("create: the script is the whole job."))),
    skills: list("create, update: skills the agent reads first."),
    toolsets: list("create, update: the agent's toolsets, such as terminal, files, web."),
    contextFrom: list("create, update: jobs whose newest output the agent gets; self for its own."),
    maxTurns: z.optional(z.int().check(z.gte(1), z.lte(10_000), z.describe("create, update."))),
    workdir: text("create, update: an absolute folder to work in; its AGENTS.md is read."),
    deliver: list("create, update: where results go."),
    onFailure: list("create, update: where alerts go; left out, as deliver."),
    repeat: z.optional(
      z
        .union([z.literal("forever"), z.int().check(z.gte(1), z.lte(1_000_000_000))])
        .check(z.describe("create, update: how many slots start.")),
    ),
    until: text("create, update: no slot after this instant. pause: resumes by itself then."),
    overlap: z.optional(z.enum(["skip", "queue", "allow", "replace"]).check(z.describe("create, update."))),
    catchUp: z.optional(z.enum(["skip", "latest", "all"]).check(z.describe("create, update."))),
    paused: z.optional(z.boolean().check(z.describe("create: paused from birth."))),
    reason: text("pause, create with paused: why."),
    cancel: z.optional(z.boolean().check(z.describe("remove: also end its live run."))),
    state: z.optional(z.enum(JOB_STATES).check(z.describe("list: only these."))),
  })
  .check(
    z.refine(
      ({ action, id, name }) => NEEDS_NO_JOB.has(action) || id !== undefined || (action !== "update" && name),
      "this action needs `id`",
    ),
    z.refine(
      ({ action, prompt, script }) => action !== "create" || prompt !== undefined || script !== undefined,
      "create needs `prompt` or `script`",
    ),
    z.refine(
      ({ action, schedule }) => action !== "create" || schedule !== undefined,
      'create needs `schedule`; "manual" for a job that only runs by hand',
    ),
    z.refine(
      ({ noAgent, prompt }) => noAgent !== true || prompt === undefined,
      "a script job (noAgent) has no `prompt`",
    ),
  );

const NEEDS_NO_JOB: ReadonlySet<string> = new Set(["create", "list"]);

export type CronjobInput = z.infer<typeof cronjobSchema>;
