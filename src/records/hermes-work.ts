// What a Hermes job does, in our words: a script on its own, or an agent with a prompt, skills and perhaps a script.

import { textOf } from "./hermes-text.ts";
import type { WorkDocument } from "./job.ts";

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

const AGENTS_WAIT = "agent jobs cannot run in this version yet; resume it when they can";

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
    model: readModel(record),
    skills,
    toolsets: listOf(record.enabled_toolsets),
    script,
    contextFrom: listOf(record.context_from),
    workdir,
    reasoningEffort: textOf(record.reasoning_effort),
  });
  warnings.push(
    "It is an agent job: its content is imported, but agent jobs cannot run in this version yet.",
  );
  return { run: { agent }, ...named, paused: AGENTS_WAIT, warnings };
}

function readModel(record: Record<string, unknown>): unknown {
  const id = textOf(record.model);
  const provider = textOf(record.provider);
  const baseUrl = textOf(record.base_url)?.replace(/\/+$/, "");
  if (provider === undefined && baseUrl === undefined) return id;
  return withoutEmpty({ provider, id, baseUrl });
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
