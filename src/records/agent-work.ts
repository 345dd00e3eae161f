// An agent job's work, parsed: what a model is asked, with which model, tools, skills and limits (DESIGN §6, §11).

import type { ReasoningEffort } from "./model.ts";

/** U4: a configured name, or a model spelled out. */
export type ModelRef = string | { provider: string; id: string; baseUrl?: string | undefined };

/** What may be spent by a run and everything under it; absent = no limit (S3). */
export interface BudgetLimit {
  /** Input and output together. */
  tokens?: number | undefined;
  /** US dollars. Needs a priced model. */
  usd?: number | undefined;
}

/** A command-line agent in place of ours: prompt in, answer on stdout. */
export interface CommandRunner {
  /** Program and arguments. `{prompt}` in an argument is replaced; without one the prompt goes to stdin. */
  command: readonly string[];
  /** Where the prompt goes. */
  promptBy: "stdin" | "argument";
}

export interface AgentWork {
  prompt: string;
  /** Undefined = the config's default model. */
  model: ModelRef | undefined;
  skills: readonly string[];
  /** Undefined = the config's default for unattended runs. */
  toolsets: readonly string[] | undefined;
  maxTurns: number;
  /** Runs first, in the home's scripts/; its stdout goes into the prompt as data. */
  script: string | undefined;
  /** U3. */
  isScriptRequired: boolean;
  /** Job ids, `self` for this one. */
  contextFrom: readonly string[];
  reasoningEffort: ReasoningEffort | undefined;
  budget: BudgetLimit;
  runner: CommandRunner | undefined;
}

/** @source DESIGN §11 and the loop's own cost: beyond it a run is lost, not busy. */
export const DEFAULT_MAX_TURNS = 60;

/** Toolsets an unattended run gets when neither job nor config names any (law 7). */
export const DEFAULT_TOOLSETS = ["terminal", "process", "files", "web", "skills", "todo"] as const;

/** Never given to a scheduled run unless the config allows it (law 7, S1). */
export const ATTENDED_TOOLSETS = ["cronjob", "messaging", "asking"] as const;
