// What a Hermes job does, in our words: a script on its own, or an agent with a prompt, skills and perhaps a script.

import { textOf } from "./hermes-text.ts";
import type { WorkDocument } from "./job.ts";
import { effortSchema, PROVIDERS } from "./models-config.ts";

export interface HermesWork {
  run: WorkDocument;
  /** Belongs to the job for a script, to the agent otherwise. */
  workdir?: string;
  /** A title where the record has none, made as Hermes makes it. */
  name?: string;
  /** Why it should wait although Hermes had it scheduled. */
  paused?: string;
  warnings: string[];
}

/** Hermes' names of toolsets that mean one of ours. */
const TOOLSETS: Readonly<Record<string, string>> = {
  terminal: "terminal",
  process: "process",
  file: "files",
  files: "files",
  web: "web",
  skills: "skills",
  todo: "todo",
};

/** `no_agent`, or a script with neither prompt nor skills, is a script job; everything else is an agent's. */
export function readHermesWork(record: Record<string, unknown>): HermesWork {
  const warnings: string[] = [];
  const script = readScript(record.script, warnings);
  const skills = listOf(record.skills ?? record.skill);
  const prompt = typeof record.prompt === "string" ? record.prompt : undefined;
  const workdir = textOf(record.workdir);
  const name = textOf(prompt)?.split("\n")[0]?.slice(0, 50) ?? skills[0] ?? script;
  const named = name === undefined ? {} : { name };
  const isScriptJob = record.no_agent === true || (!textOf(prompt) && skills.length === 0);
  if (isScriptJob && script !== undefined)
    return { run: { script }, ...named, ...(workdir ? { workdir } : {}), warnings };
  if (isScriptJob) {
    warnings.push("It names neither a script nor a prompt, so there is nothing to run.");
    return { run: { agent: { prompt: prompt ?? "" } }, ...named, paused: "it names no work", warnings };
  }
  const agent = withoutEmpty({
    prompt,
    model: readModel(record, warnings),
    skills,
    toolsets: readToolsets(record.enabled_toolsets, warnings),
    script,
    contextFrom: listOf(record.context_from),
    workdir,
    reasoningEffort: readEffort(record.reasoning_effort, warnings),
  });
  if (skills.length > 0) warnings.push(`Copy its skills (${skills.join(", ")}) to skills/ in this home.`);
  return { run: { agent }, ...named, warnings };
}

/** A pin is carried only as a whole: half of one would send the job, and perhaps a key, somewhere else. */
function readModel(record: Record<string, unknown>, warnings: string[]): unknown {
  const id = textOf(record.model);
  const provider = textOf(record.provider)?.toLowerCase();
  const baseUrl = textOf(record.base_url)?.replace(/\/+$/, "");
  if (id === undefined && provider === undefined && baseUrl === undefined) return undefined;
  const isKnown = (PROVIDERS as readonly (string | undefined)[]).includes(provider);
  if (id !== undefined && isKnown) return withoutEmpty({ provider, id, baseUrl });
  const pin = [provider, id, baseUrl].filter((part) => part !== undefined).join(", ");
  warnings.push(
    `Its model (${pin}) cannot be carried: name it under models.named in config.yaml, then set run.agent.model.`,
  );
  return undefined;
}

function readToolsets(value: unknown, warnings: string[]): string[] {
  const named = listOf(value);
  const known = named.flatMap((name) => TOOLSETS[name] ?? []);
  const lost = named.filter((name) => TOOLSETS[name] === undefined);
  if (lost.length > 0) warnings.push(`Its toolsets ${lost.join(", ")} have no counterpart here.`);
  return [...new Set(known)];
}

function readEffort(value: unknown, warnings: string[]): string | undefined {
  const effort = textOf(value)?.toLowerCase();
  if (effort === undefined || effortSchema.safeParse(effort).success) return effort;
  warnings.push(`Its reasoning effort "${effort}" has no counterpart here.`);
  return undefined;
}

/** Scripts live in `<home>/scripts`: of a longer path the part below Hermes' own `scripts/` is kept, else the name. */
function readScript(value: unknown, warnings: string[]): string | undefined {
  const path = textOf(value);
  if (path === undefined) return undefined;
  const parts = path.split(/[/\\]+/).filter((part) => part !== "" && part !== "." && part !== "..");
  const below = parts.slice(parts.lastIndexOf("scripts") + 1);
  const isElsewhere = /^[/~\\]|\.\./.test(path) && !parts.includes("scripts");
  const script = (isElsewhere ? parts.slice(-1) : below).join("/");
  warnings.push(`Copy its script ${path} to scripts/${script} in this home.`);
  return script;
}

function listOf(value: unknown): string[] {
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item) => textOf(item) ?? []);
}

function withoutEmpty(values: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(values).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(kept);
}
