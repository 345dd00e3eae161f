// The job document's codec: a person's YAML or JSON → JobDocument → YAML for a new file, JSON for every surface.
//
// I1. A document is accepted whole or refused with every mistake in it, each with line and column.
// I2. Shorthands are written out on reading (`run: disk.sh`, `deliver: local`, `retry: 3`), so that nothing below sees them.

import { Fault } from "../kernel/errors.ts";
import { slugify } from "../kernel/ids.ts";
import { type DocumentIssue, faultOfIssues, issuesOf } from "./document-issues.ts";
import type { JobDocument, RetryDocument, TargetDocument, WorkDocument } from "./job.ts";
import type { RetryInput, TargetsInput } from "./job-input.ts";
import { JOB_ID, type JobInput, jobSchema } from "./job-schema.ts";
import { knownKeysInCamelCase } from "./snake-case.ts";
import { parseYamlDocument, type ValuePath, type YamlText } from "./yaml-text.ts";
import { keyText } from "./yaml-write.ts";

export interface JobReading {
  document: JobDocument;
  /** Whether the text itself names the id (D2: only files that do not can be renamed silently). */
  hasExplicitId: boolean;
  /** What is accepted and probably not meant, one sentence each. */
  warnings: string[];
}

/**
 * Reads a job document. `defaultId` is used when the text names none.
 * @throws Fault `job.yaml` for YAML that cannot be read, `job.invalid` for anything else, with every mistake in it.
 */
export function parseJobDocument(text: string, options: { file: string; defaultId: string }): JobReading {
  const yaml = parseYamlDocument(text, options.file);
  if (!isMap(yaml.value)) throw notAMap(yaml);
  const value = knownKeysInCamelCase(yaml.value, jobSchema) as Record<string, unknown>;
  const special = [...profileIssues(value), ...workIssues(value), ...idIssues(yaml, value)];
  delete value.profile;
  const parsed = jobSchema.safeParse(value);
  const issues = [...special, ...(parsed.success ? [] : issuesOf(parsed.error.issues, value, jobSchema))];
  const fault = faultOfIssues("job.invalid", issues, yaml);
  if (fault) throw fault;
  // Without issues the parse has succeeded, so this is the typed value of the same text.
  const input = parsed.data as JobInput;
  return {
    document: documentOf(input, options.defaultId),
    hasExplicitId: input.id !== undefined,
    warnings: [...yaml.document.warnings.map((warning) => warning.message), ...doubts(input)],
  };
}

/** YAML for a new file: canonical key order, short values in one line. `parseJobDocument` reads it back unchanged. */
export function formatJobDocument(document: JobDocument): string {
  return Object.entries(jobDocumentToJson(document))
    .flatMap(([key, value]) => keyText(key, value))
    .map((line) => `${line}\n`)
    .join("");
}

/** The document as plain JSON values in canonical key order, without absent keys. */
export function jobDocumentToJson(document: JobDocument): Record<string, unknown> {
  const source = document as unknown as Record<string, unknown>;
  const keys = Object.keys(jobSchema.shape).filter((key) => source[key] !== undefined);
  return JSON.parse(JSON.stringify(Object.fromEntries(keys.map((key) => [key, source[key]]))));
}

/** The id a file gives its job: its name without the ending, made a slug. */
export function defaultJobId(fileName: string): string {
  const stem = fileName.replace(/^.*\//, "").replace(/\.(ya?ml|json)$/i, "");
  return JOB_ID.test(stem) ? stem : slugify(stem, "job");
}

function documentOf(input: JobInput, defaultId: string): JobDocument {
  const { id = defaultId, run, on, deliver, onFailure, retry, origin, ...rest } = input;
  const document: JobDocument = { id, ...rest, run: workOf(run) };
  if (on !== undefined) document.on = Array.isArray(on) ? on : [on];
  if (deliver !== undefined) document.deliver = targetsOf(deliver);
  if (onFailure !== undefined) document.onFailure = targetsOf(onFailure);
  if (retry !== undefined) document.retry = retryOf(retry);
  if (origin !== undefined) document.origin = withTextIds(origin);
  return jobDocumentToJson(document) as unknown as JobDocument;
}

function workOf(run: JobInput["run"]): WorkDocument {
  if (typeof run === "string") return { script: run };
  if (Array.isArray(run)) return { script: run[0] ?? "", ...(run.length > 1 ? { args: run.slice(1) } : {}) };
  const { agent, workflow, task, ...script } = run;
  const work: WorkDocument = { ...script };
  if (agent !== undefined) work.agent = agentOf(agent);
  if (workflow !== undefined) work.workflow = typeof workflow === "string" ? { file: workflow } : workflow;
  if (task !== undefined) work.task = typeof task === "string" ? { executor: task } : task;
  return work;
}

function agentOf(agent: string | Record<string, unknown>): Record<string, unknown> {
  if (typeof agent === "string") return { prompt: agent };
  const listed = ["skills", "toolsets", "contextFrom"].flatMap((key) =>
    typeof agent[key] === "string" ? [[key, [agent[key]]]] : [],
  );
  return { ...agent, ...Object.fromEntries(listed) };
}

/** One target or a list; `none` is the empty list. Numeric ids become texts (O5). */
export function targetsOf(targets: TargetsInput): TargetDocument[] {
  const list = Array.isArray(targets) ? targets : [targets];
  if (list.length === 1 && list[0] === "none") return [];
  return list.map((target) => (typeof target === "string" ? target : withTextIds(target)));
}

type NumericIds = { chat?: string | number | undefined; thread?: string | number | undefined };

function withTextIds<Address extends NumericIds>(address: Address) {
  const { chat, thread, ...rest } = address;
  return {
    ...rest,
    ...(chat === undefined ? {} : { chat: String(chat) }),
    ...(thread === undefined ? {} : { thread: String(thread) }),
  };
}

/** Writes out the shorthands of `retry`. */
export function retryOf(retry: RetryInput): RetryDocument {
  if (typeof retry === "number") return { max: retry };
  const { on, notOn, ...rest } = retry;
  return {
    ...rest,
    ...(on === undefined ? {} : { on: [on].flat() }),
    ...(notOn === undefined ? {} : { notOn: [notOn].flat() }),
  };
}

const KINDS = ["script", "agent", "workflow", "task"] as const;

function workIssues(value: Record<string, unknown>): DocumentIssue[] {
  const run = value.run;
  if (Array.isArray(run) && run.length === 0)
    return [
      {
        path: ["run"],
        of: "value",
        what: "run is an empty list",
        hint: "write the script and its arguments",
      },
    ];
  if (!isMap(run)) return [];
  const kinds = KINDS.filter((kind) => run[kind] !== undefined);
  const issues: DocumentIssue[] = [];
  if (kinds.length !== 1) {
    const what = kinds.length === 0 ? "run names no work" : `run names ${kinds.join(" and ")}`;
    issues.push({ path: ["run"], of: "key", what, hint: `keep exactly one of ${KINDS.join(", ")}` });
  }
  if (run.workflow !== undefined && value.effects !== undefined)
    issues.push({
      path: ["effects"],
      of: "key",
      what: "effects on a workflow job",
      hint: "declare effects on the workflow's tasks instead",
    });
  if (run.args !== undefined && run.script === undefined)
    issues.push({ path: ["run", "args"], of: "key", what: "run.args without a script", hint: "remove it" });
  return issues;
}

function profileIssues(value: Record<string, unknown>): DocumentIssue[] {
  if (!Object.hasOwn(value, "profile")) return [];
  const hint = "put the job into that profile's home: nightshift --profile NAME job add …";
  return [{ path: ["profile"], of: "key", what: "one home is one profile, a job has none", hint }];
}

/** O5: an id that YAML has already bent (beyond 2^53, leading zero, 1e5) cannot be given back. */
function idIssues(yaml: YamlText, value: Record<string, unknown>): DocumentIssue[] {
  return targetPaths(value).flatMap((path) => {
    const typed = yaml.numberSource(path);
    const number = Number(typed);
    if (typed === undefined || (Number.isSafeInteger(number) && String(number) === typed)) return [];
    const what = `${path.join(".")} is an id that YAML reads as another number`;
    return [{ path, of: "value" as const, what, hint: `quote it: "${typed}"` }];
  });
}

function targetPaths(value: Record<string, unknown>): ValuePath[] {
  const ids = (path: ValuePath): ValuePath[] => [
    [...path, "chat"],
    [...path, "thread"],
  ];
  const lists = ["deliver", "onFailure"].flatMap((key): ValuePath[] => {
    const targets = value[key];
    return Array.isArray(targets) ? targets.flatMap((_, index) => ids([key, index])) : ids([key]);
  });
  return [...lists, ...ids(["origin"])];
}

function doubts(input: JobInput): string[] {
  const found: string[] = [];
  if (input.schedule === undefined)
    for (const key of ["jitter", "repeat", "until", "catchUp"] as const)
      if (input[key] !== undefined) found.push(`${key} has no meaning without a schedule.`);
  if (input.catchUpLimit !== undefined && input.catchUp !== "all")
    found.push("catchUpLimit has a meaning only with catchUp: all.");
  const retry = typeof input.retry === "object" ? input.retry : undefined;
  if (retry && (retry.max ?? 0) === 0) found.push("retry.max is 0, so nothing is tried again.");
  return found;
}

function notAMap(yaml: YamlText): Fault {
  const issue: DocumentIssue = {
    path: [],
    of: "value",
    what: yaml.value === null ? "the file is empty" : "this is not a map of keys and values",
    hint: "write a job document, at least `run:`",
  };
  return (
    faultOfIssues("job.invalid", [issue], yaml) ?? new Fault("job.invalid", issue.what, { hint: issue.hint })
  );
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
