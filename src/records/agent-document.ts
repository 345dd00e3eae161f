// From `run.agent` of a job document to the work it means: shorthands written out, presets and defaults filled in.

import type { z } from "zod/mini";
import { Fault } from "../kernel/errors.ts";
import { type AgentWork, type BudgetLimit, type CommandRunner, DEFAULT_MAX_TURNS } from "./agent-work.ts";
import type { WorkDocument } from "./job.ts";
import { agentObjectSchema } from "./job-schema.ts";

type AgentInput = z.infer<typeof agentObjectSchema>;

/** The config's `defaults.agent`: what agent jobs take that say nothing themselves. */
export interface AgentDefaults {
  toolsets?: readonly string[] | undefined;
  maxTurns?: number | undefined;
  budget?: BudgetLimit | undefined;
  /** Hosts, addresses or CIDR ranges that the web tool may reach although they are private. */
  allowPrivate?: readonly string[] | undefined;
}

/** Non-interactive invocations of known agents. @source each program's own manual of its print or exec mode. */
const RUNNER_PRESETS: Readonly<Record<string, CommandRunner>> = {
  claude: { command: ["claude", "-p"], promptBy: "stdin" },
  codex: { command: ["codex", "exec", "-"], promptBy: "stdin" },
  gemini: { command: ["gemini"], promptBy: "stdin" },
  opencode: { command: ["opencode", "run", "{prompt}"], promptBy: "argument" },
};

/** Throws Fault `job.invalid` for a map the codec would not have let through. */
export function agentWorkOf(
  document: NonNullable<WorkDocument["agent"]>,
  defaults: AgentDefaults,
): AgentWork {
  const input = read(document);
  return {
    prompt: input.prompt ?? "",
    model: input.model,
    skills: listOf(input.skills),
    toolsets: input.toolsets === undefined ? defaults.toolsets : listOf(input.toolsets),
    maxTurns: input.maxTurns ?? defaults.maxTurns ?? DEFAULT_MAX_TURNS,
    script: input.script,
    isScriptRequired: input.scriptRequired ?? false,
    contextFrom: listOf(input.contextFrom),
    reasoningEffort: input.reasoningEffort,
    budget: { ...defaults.budget, ...input.budget },
    runner: runnerOf(input.runner),
  };
}

/** `workdir` may stand with the agent instead of the job. */
export function agentWorkdir({ agent }: WorkDocument): string | undefined {
  return typeof agent?.workdir === "string" ? agent.workdir : undefined;
}

function read(document: NonNullable<WorkDocument["agent"]>): AgentInput {
  const parsed = agentObjectSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Fault(
    "job.invalid",
    `run.agent.${issue?.path.join(".") ?? ""} ${issue?.message ?? "does not fit"}`,
    {
      hint: "Correct it with `nightshift job edit`.",
    },
  );
}

function runnerOf(runner: AgentInput["runner"]): CommandRunner | undefined {
  if (runner === undefined) return undefined;
  if (typeof runner === "string") return RUNNER_PRESETS[runner];
  const command = listOf(runner.command);
  const hasPlace = command.some((word) => word.includes("{prompt}"));
  return { command, promptBy: runner.promptBy ?? (hasPlace ? "argument" : "stdin") };
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}
