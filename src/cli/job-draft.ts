// From options to the keys of a job document. Texts are handed on as they are: the document's codec judges them.

import { Fault } from "../kernel/errors.ts";
import { withoutAbsent } from "../kernel/without-absent.ts";
import type { JobDocument, WorkDocument } from "../records/job.ts";
import { agentFields } from "./agent-options.ts";
import type { Options } from "./command.ts";
import { listOption, numberOption, textOption, wordsOption } from "./options.ts";

/** Only the keys that options name; `add` adds id and schedule, `update` patches. */
export function fieldsFromOptions(options: Options, prompt?: string): Partial<JobDocument> {
  const text = (name: string) => textOption(options, name);
  const one = <Word extends string>(name: string, words: readonly Word[]) =>
    wordsOption(options, name, words)?.[0];
  const run = workFromOptions(options, prompt);
  return withoutAbsent({
    name: text("name"),
    description: text("description"),
    run,
    timezone: text("timezone"),
    on: listOption(options, "onWebhook")?.map((webhook) => ({ webhook })),
    deliver: targets(options, "deliver"),
    onFailure: targets(options, "onFailure"),
    environment: text("environment"),
    timeout: timeouts(options),
    catchUp: one("catchUp", ["skip", "latest", "all"]),
    catchUpLimit: numberOption(options, "catchUpLimit", { min: 1, max: 1_000 }),
    overlap: one("overlap", ["skip", "queue", "allow", "replace"]),
    effects: one("effects", ["none", "idempotent", "external"]),
    retry: retry(options),
    autoPause: numberOption(options, "autoPause", { min: 1, max: 1_000 }),
    jitter: text("jitter"),
    repeat: numberOption(options, "repeat", { min: 1, max: 1_000_000_000 }),
    until: text("until"),
    env: variables(options),
    workdir: text("workdir"),
  });
}

function workFromOptions(options: Options, prompt: string | undefined): WorkDocument | undefined {
  const script = textOption(options, "script");
  const workflow = textOption(options, "workflow");
  const executor = textOption(options, "task");
  const given = [script, workflow, executor].filter((value) => value !== undefined);
  if (given.length > 1 || (given.length === 1 && prompt !== undefined && script === undefined)) {
    throw new Fault("input.usage", "A job does exactly one kind of work.", {
      hint: "Keep one of: a prompt, --script, --workflow, --task.",
    });
  }
  if (prompt !== undefined) return { agent: withoutAbsent({ prompt, script, ...agentFields(options) }) };
  if (script !== undefined) {
    const args = options.arg;
    return Array.isArray(args) ? { script, args } : { script };
  }
  if (workflow !== undefined) return { workflow: { file: workflow } };
  return executor === undefined ? undefined : { task: { executor } };
}

/** `none` = nowhere. A comma inside a target is the target grammar's own affair. */
function targets(options: Options, name: string): string[] | undefined {
  const value = options[name];
  if (value === undefined || typeof value === "boolean") return undefined;
  const list = Array.isArray(value) ? [...value] : [value];
  return list.length === 1 && list[0] === "none" ? [] : list;
}

function timeouts(options: Options): JobDocument["timeout"] {
  const limit = (name: string): string | 0 | undefined => {
    const text = textOption(options, name);
    return text === "0" ? 0 : text;
  };
  const [idle, total] = [limit("idleTimeout"), limit("totalTimeout")];
  return idle === undefined && total === undefined ? undefined : withoutAbsent({ idle, total });
}

function retry(options: Options): JobDocument["retry"] {
  const fields = withoutAbsent({
    max: numberOption(options, "retry", { min: 0, max: 1_000 }),
    delay: textOption(options, "retryDelay"),
  });
  return Object.keys(fields).length > 0 ? fields : undefined;
}

function variables(options: Options): Record<string, string> | undefined {
  const list = options.env;
  if (!Array.isArray(list)) return undefined;
  return Object.fromEntries(
    list.map((entry) => {
      const at = entry.indexOf("=");
      if (at > 0) return [entry.slice(0, at), entry.slice(at + 1)];
      throw new Fault("input.usage", `--env "${entry}" names no value.`, { hint: "Write --env NAME=VALUE." });
    }),
  );
}
