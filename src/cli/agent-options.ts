// What only agents heed, as options: one key of `run.agent` each. Used by `job add`, `job update` and `agent`.

import { Fault } from "../kernel/errors.ts";
import { withoutAbsent } from "../kernel/without-absent.ts";
import type { OptionSpec, Options } from "./command.ts";
import { isSet, listOption, numberOption, textOption, wordsOption } from "./options.ts";

/** Their lines in a command's table. */
export const AGENT_FIELDS: readonly OptionSpec[] = [
  ["--model <name>", "agents: a model of config.yaml"],
  ["--skill <name...>", "agents: a skill of the home's skills/ folder"],
  ["--toolset <name...>", "agents: terminal, process, files, web, skills, todo, or an MCP server's name"],
  ["--context-from <job...>", "agents: the newest output of these jobs, or self"],
  ["--max-turns <n>", "agents: how many turns before the last answer"],
  ["--reasoning-effort <effort>", "agents: none, minimal, low, medium or high"],
  ["--budget-usd <dollars>", "agents: the most a run may spend; needs a priced model"],
  ["--budget-tokens <n>", "agents: the most tokens a run may use, in and out"],
  ["--script-required", "agents: a pre-run script that fails fails the run"],
  ["--runner <preset>", "agents: a command-line agent instead: claude, codex, gemini or opencode"],
  [
    "--runner-command <word...>",
    "agents: any command line instead; {prompt} in a word, else the prompt by stdin",
  ],
];

/** The keys of `run.agent` that options name; empty = none. */
export function agentFields(options: Options): Record<string, unknown> {
  const budget = withoutAbsent({
    usd: dollars(options),
    tokens: numberOption(options, "budgetTokens", { min: 1, max: Number.MAX_SAFE_INTEGER }),
  });
  return withoutAbsent({
    model: textOption(options, "model"),
    skills: listOption(options, "skill"),
    toolsets: listOption(options, "toolset"),
    contextFrom: listOption(options, "contextFrom"),
    maxTurns: numberOption(options, "maxTurns", { min: 1, max: 10_000 }),
    reasoningEffort: wordsOption(options, "reasoningEffort", [
      "none",
      "minimal",
      "low",
      "medium",
      "high",
    ])?.[0],
    budget: Object.keys(budget).length > 0 ? budget : undefined,
    scriptRequired: isSet(options, "scriptRequired") ? true : undefined,
    runner: runnerOf(options),
  });
}

/** What only an agent heeds is refused without one, never dropped unseen. */
export function refuseAgentOptions(options: Options): void {
  const flags = AGENT_FIELDS.map(([flag]) => flag.replace(/ .*/, ""));
  const given = flags.find((flag) => options[nameOf(flag)] !== undefined);
  if (given === undefined) return;
  throw new Fault("input.usage", `${given} is for agent jobs, and no prompt is given.`, {
    hint: `Add a prompt, or leave ${given} out.`,
  });
}

/** `--max-turns` → `maxTurns`, as the parser of the command line names it. */
function nameOf(flag: string): string {
  return flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function dollars(options: Options): number | undefined {
  const text = textOption(options, "budgetUsd");
  if (text === undefined) return undefined;
  const value = Number(text.replace(/^\$/, ""));
  if (Number.isFinite(value) && value > 0 && text.trim() !== "") return value;
  throw new Fault("input.usage", `--budget-usd "${text}" is no amount.`, {
    hint: "Write US dollars, such as 0.50.",
  });
}

function runnerOf(options: Options): unknown {
  const preset = textOption(options, "runner");
  const command = options.runnerCommand;
  if (preset !== undefined && command !== undefined)
    throw new Fault("input.usage", "--runner and --runner-command name two agents.", {
      hint: "Keep one of them.",
    });
  return Array.isArray(command) ? { command } : preset;
}
