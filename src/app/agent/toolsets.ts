// Which toolsets a run is granted (law 7): what the job names, else the config's, else the usual ones; never what needs a
// person, unless one is there or the config allows it. Pure.

import { Fault, nearestWord } from "../../kernel/errors.ts";
import { ATTENDED_TOOLSETS, DEFAULT_TOOLSETS } from "../../records/agent-work.ts";

export interface ToolsetQuestion {
  /** Undefined = nothing was named. */
  asked: readonly string[] | undefined;
  /** Names in the config's `mcpServers`. */
  mcpServers: readonly string[];
  isAttended: boolean;
  /** `http.allowRunsToSchedule`. */
  mayRunsSchedule: boolean;
}

/**
 * In the order asked, each once. Throws Fault `tool.unknown` for a name nobody has, `input.refused` for one that an
 * unattended run is not given.
 */
export function grantToolsets(question: ToolsetQuestion): string[] {
  const { asked, mcpServers, isAttended, mayRunsSchedule } = question;
  if (asked === undefined)
    return [...DEFAULT_TOOLSETS, ...mcpServers, ...(isAttended || mayRunsSchedule ? ["cronjob"] : [])];
  const known = [...DEFAULT_TOOLSETS, "cronjob", ...mcpServers];
  for (const name of asked) {
    if (name === "cronjob" && !isAttended && !mayRunsSchedule) throw refused(name);
    if (known.includes(name)) continue;
    if ((ATTENDED_TOOLSETS as readonly string[]).includes(name)) throw refused(name);
    throw unknown(name, known);
  }
  return [...new Set(asked)];
}

function refused(name: string): Fault {
  const isAllowable = name === "cronjob";
  return new Fault("input.refused", `An unattended agent is not given the toolset "${name}".`, {
    hint: isAllowable
      ? "Leave it out, or allow it with `http.allowRunsToSchedule: true` in config.yaml."
      : "Leave it out: its answer is delivered, and nobody is there to be asked.",
  });
}

function unknown(name: string, known: readonly string[]): Fault {
  const near = nearestWord(name, known);
  return new Fault("tool.unknown", `There is no toolset "${name}".`, {
    hint: near ? `Did you mean "${near}"?` : `Use ${known.join(", ")}.`,
    details: { known },
  });
}
