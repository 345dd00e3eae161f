// The background processes of somebody who has an environment: a run, or a session of another agent.
//
// I1. On this machine they start where the owner's shell session stands, with what it has exported, behind the same walls
//     (S1), and under a shim: they can be adopted and handed off. All else goes through the environment's own connection.

import { type ProbeWalls, standWalls } from "../../execute/environments/bubblewrap.ts";
import type { LocalOptions } from "../../execute/environments/local.ts";
import type { Redact } from "../../kernel/redact.ts";
import { SECOND } from "../../kernel/time.ts";
import type { Processes } from "../../records/background.ts";
import type { Environment } from "../../records/environment.ts";
import type { EnvironmentSpec } from "../../records/environment-spec.ts";
import type { Context } from "../context.ts";
import { attachedProcesses } from "./attached.ts";
import { ownedProcesses } from "./owned-processes.ts";
import type { Owner, StartPlace } from "./start.ts";

/** For asking the shell session where it stands. */
const SESSION_MS = 10 * SECOND;
/** A shell's own; they say nothing of the session. */
const SHELL_NAMES = new Set(["_", "PWD", "OLDPWD", "SHLVL"]);

export interface EnvironmentProcessesOptions {
  context: Context;
  owner: Owner;
  parentRunId?: string | undefined;
  environment: Environment;
  spec: EnvironmentSpec;
  /** What commands must not see (S1). */
  hide: NonNullable<LocalOptions["hide"]>;
  redact: Redact;
  jobEnv: Readonly<Record<string, string>>;
  timezone: string;
  jobId: string | undefined;
  depth: number;
  mayTellTargets: boolean;
  /** The node's; by default each start looks whether the walls stand. */
  probeWalls?: ProbeWalls | undefined;
}

export function environmentProcesses(options: EnvironmentProcessesOptions): Processes {
  const { owner, environment, spec, redact, parentRunId, mayTellTargets } = options;
  const context: Context = { ...options.context, redact };
  const isBare = spec.backend === "local" && !spec.limits && !spec.sandbox;
  return ownedProcesses({
    ...{ context, owner, parentRunId, mayTellTargets },
    seesAll: false,
    place: () => placeOf(options),
    attached: {
      processes: attachedProcesses({ context, owner, environment, redact }),
      takes: ({ pty }) => pty === true || !isBare,
    },
  });
}

async function placeOf(options: EnvironmentProcessesOptions): Promise<StartPlace> {
  const { environment, hide, redact, jobEnv, timezone, jobId, depth } = options;
  const { cwd, exported } = await sessionOf(environment);
  const { folders: hidden, except, readable = [] } = hide;
  const { prefix } = await standWalls(
    { kind: "hide", hidden, shown: [environment.cwd, ...except], readable },
    { env: { PATH: exported.PATH ?? "" }, probe: options.probeWalls },
  );
  return { ...{ cwd, exported, prefix, redact, jobEnv, timezone, jobId, depth } };
}

/** Where the shell session stands, and what it has exported. */
async function sessionOf(environment: Environment): Promise<Pick<StartPlace, "cwd" | "exported">> {
  const signal = new AbortController().signal;
  const answer = await environment.exec("env -0", { signal, timeoutMs: SESSION_MS });
  const lines = answer.exitCode === 0 ? Buffer.from(answer.stdout).toString("utf8").split("\0") : [];
  const exported = lines.flatMap((line): [string, string][] => {
    const [, name = "", value = ""] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(line) ?? [];
    return name === "" || name.startsWith("NIGHTSHIFT_") || SHELL_NAMES.has(name) ? [] : [[name, value]];
  });
  return { cwd: answer.cwd, exported: Object.fromEntries(exported) };
}
