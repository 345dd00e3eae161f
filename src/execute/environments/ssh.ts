// The ssh backend: commands on another machine, over one OpenSSH connection.
//
// I1. One connection; every command is a session of it. When it is gone, a call fails at once as `environment.broken`:
//     a lost link is never told as the command's own failure.
// I2. A guardian lives there at the far end of the connection. Its end of input, or its silence, means that the connection,
//     this process or its machine is gone: then it ends all that carries the environment's mark and removes what was made.
// I3. A time-out ends the call's whole tree there (end-inside.ts).

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../kernel/errors.ts";
import type { Environment } from "../../records/environment.ts";
import { formatEnvironment, type SshSpec } from "../../records/environment-spec.ts";
import { findCommand } from "../find-command.ts";
import type { CommandExit } from "../spawn-held.ts";
import { cpuArgv, endArgv, guardianArgv, numberOf } from "./end-inside.ts";
import { clientEnv, exportsOf, travellingEnv } from "./env-file.ts";
import { launchProcess } from "./launch-process.ts";
import { launchTerminal } from "./launch-terminal.ts";
import type {
  CheckDeps,
  EnvironmentCheck,
  EnvironmentDeps,
  Launched,
  LaunchRequest,
  Place,
} from "./place.ts";
import { type ClientAnswer, lastLine, runClient } from "./run-client.ts";
import { makeShellEnvironment } from "./shell-environment.ts";
import {
  controlArgv,
  LONGEST_SSH_COMMAND,
  masterArgv,
  sessionOverMaster,
  terminalOverMaster,
} from "./ssh-arguments.ts";
import { openSocketFolder } from "./ssh-sockets.ts";

/** Connecting, authenticating and the first word from there. @source upstream.md 1.11, with room for a slow login shell */
const HANDSHAKE_MS = 25_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** A line for the guardian, and after which silence it acts: one to three minutes after the last line. */
const BEAT_MS = 15_000;
const SILENCE_SECONDS = 60;
/** Connects. Throws Fault `environment.unusable` when it cannot. */
export async function openSsh(deps: EnvironmentDeps, spec: SshSpec): Promise<Environment> {
  await haveClient(deps);
  const environmentId = deps.newId();
  const folder = await openSocketFolder(deps.tempFolder, environmentId);
  const link: Link = {
    spec,
    label: formatEnvironment(spec),
    environmentId,
    folder,
    socket: join(folder, "m"),
    master: undefined,
  };
  try {
    link.master = await connect(deps, link);
    void beat(deps, link.master);
    return makeShellEnvironment(deps, await makePlace(deps, link));
  } catch (error) {
    link.master?.drop();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Whether the client is here and the host lets us in. */
export async function checkSsh(deps: CheckDeps, spec: SshSpec): Promise<EnvironmentCheck> {
  await haveClient(deps);
  const answer = await runClient(deps.clock, {
    argv: masterArgv(spec, "none", ["true"]),
    env: clientEnv(deps.nodeEnv),
    timeoutMs: HANDSHAKE_MS,
  });
  if (answer.exitCode === 0) return { usable: true, notes: [`${formatEnvironment(spec)} answers`] };
  return {
    usable: false,
    why: `${formatEnvironment(spec)}: ${lastLine(answer) || "no answer"}`,
    hint: CONNECT_HINT,
  };
}

const CONNECT_HINT = "Make `ssh` to it work without a password or a question, from this user and machine.";

interface Link {
  spec: SshSpec;
  label: string;
  environmentId: string;
  folder: string;
  socket: string;
  master: Launched | undefined;
}

async function haveClient({ nodeEnv }: Pick<CheckDeps, "nodeEnv">): Promise<void> {
  const found = await findCommand("ssh", nodeEnv.PATH ?? "");
  if (found.kind === "found") return;
  throw new Fault("environment.unusable", "ssh is not installed", { hint: "Install the OpenSSH client." });
}

/** Resolves once the guardian has said its word: connected, let in, and a shell is there. */
async function connect(deps: EnvironmentDeps, link: Link): Promise<Launched> {
  const master = await launchProcess({
    argv: masterArgv(link.spec, link.socket, guardianArgv(link.environmentId, SILENCE_SECONDS)),
    env: clientEnv(deps.nodeEnv),
    hasStdin: true,
  });
  const timer = new AbortController();
  let said = "";
  master.stderr?.on("data", (chunk) => {
    said = (said + String(chunk)).slice(-2_000);
  });
  const ready = new Promise<"ready">((resolve) => {
    master.stdout.on("data", (chunk) => {
      if (String(chunk).includes("ready")) resolve("ready");
    });
  });
  try {
    const first = await Promise.race([
      ready,
      master.exited.then(() => "exited" as const),
      deps.clock.sleep(HANDSHAKE_MS, timer.signal).then(() => "late" as const),
    ]);
    if (first === "ready") return master;
    const why = said.trim().split("\n").at(-1) || (first === "late" ? "it does not answer" : "it hung up");
    throw new Fault("environment.unusable", `no connection to ${link.label}: ${why}`, {
      hint: CONNECT_HINT,
      retry: "later",
    });
  } catch (error) {
    master.drop();
    throw error;
  } finally {
    timer.abort(new Error("connected or not"));
  }
}

/** Until the connection ends. */
async function beat({ clock }: EnvironmentDeps, master: Launched): Promise<void> {
  const ended = new AbortController();
  void master.exited.then(() => ended.abort(new Error("the connection has ended")));
  while (
    await clock.sleep(BEAT_MS, ended.signal).then(
      () => true,
      () => false,
    )
  )
    if (master.stdin?.writable) master.stdin.write("\n");
}

/** Prints the shell and where sessions start, after making the state folder and the variables' file (from stdin). */
const PREPARE = `umask 077
mkdir -p "$1/work" || exit 1
cat >"$1/env" || exit 1
cd "\${2:-$1/work}" || exit 1
command -v bash || echo sh
pwd`;

async function makePlace(deps: EnvironmentDeps, link: Link): Promise<Place> {
  const { environmentId, label, spec } = link;
  const stateFolder = `/tmp/.nightshift-${environmentId}`;
  const inside = (argv: readonly string[], stdin?: string) =>
    runClient(deps.clock, {
      argv: sessionOverMaster(spec, link.socket, argv),
      env: clientEnv(deps.nodeEnv),
      timeoutMs: ANSWER_TIMEOUT_MS,
      ...(stdin !== undefined && { stdin }),
    });
  const variables = {
    ...travellingEnv(deps.env, deps.jobEnvNames),
    NIGHTSHIFT_ENVIRONMENT_ID: environmentId,
  };
  const prepared = await inside(
    ["sh", "-c", PREPARE, "sh", stateFolder, spec.folder ?? ""],
    exportsOf(variables),
  );
  const [shell = "", cwd = ""] = prepared.stdout.trim().split("\n").slice(-2);
  if (prepared.exitCode !== 0 || !cwd.startsWith("/"))
    throw new Fault("environment.unusable", `${label} cannot run commands: ${lastLine(prepared)}`, {
      hint: "Use a machine with a POSIX shell, and a folder this user may enter.",
    });
  return {
    backend: "ssh",
    label,
    environmentId,
    shell,
    isBash: shell.endsWith("/bash"),
    cwd,
    stateFolder,
    longestArgument: LONGEST_SSH_COMMAND,
    launch: (request) => launchThere(deps, link, { ...request, stateFolder, inside }),
    async end(callId, { graceMs, launched }) {
      const survivors = numberOf((await inside(endArgv(callId, graceMs))).stdout);
      launched.drop();
      // The link is gone: the guardian ends everything at its own end.
      return { survivors: survivors ?? 0 };
    },
    cpuMs: async (callId) => numberOf((await inside(cpuArgv(callId))).stdout),
    whyLost: (exit) => whyLost(deps, link, exit),
    close: ({ graceMs }) => closeLink(deps, link, { graceMs, inside }),
  };
}

type Inside = (argv: readonly string[], stdin?: string) => Promise<ClientAnswer>;

async function launchThere(
  deps: EnvironmentDeps,
  link: Link,
  request: LaunchRequest & { stateFolder: string; inside: Inside },
): Promise<Launched> {
  const { argv, callId, hasStdin, pty, stateFolder, inside } = request;
  if (Object.keys(request.env).length > 0) {
    const write = ["sh", "-c", 'umask 077; cat >"$1"', "sh", `${stateFolder}/env.${callId}`];
    await inside(write, exportsOf(request.env));
  }
  const marks = [
    `NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID ?? ""}`,
    `NIGHTSHIFT_ENVIRONMENT_ID=${link.environmentId}`,
    `NIGHTSHIFT_CALL_ID=${callId}`,
  ];
  const words = ["env", ...marks, ...argv];
  const env = clientEnv(deps.nodeEnv);
  if (pty) return launchTerminal({ argv: terminalOverMaster(link.spec, link.socket, words), env, ...pty });
  const over = sessionOverMaster(link.spec, link.socket, words);
  return launchProcess({ argv: over, env, hasStdin, pipes: deps.pipes });
}

/** 255 is OpenSSH's own word for a lost link, and any command's for whatever it likes: the connection itself is asked. */
async function whyLost(deps: EnvironmentDeps, link: Link, exit: CommandExit): Promise<Error | undefined> {
  if (exit.exitCode !== 255) return undefined;
  const check = await runClient(deps.clock, {
    argv: controlArgv(link.spec, link.socket, "check"),
    env: clientEnv(deps.nodeEnv),
    timeoutMs: ANSWER_TIMEOUT_MS,
  });
  if (check.exitCode === 0) return undefined;
  return new Fault("environment.broken", `the connection to ${link.label} is gone`, {
    hint: "Look at the network and at that machine; the command may have run in part.",
    retry: "later",
  });
}

async function closeLink(
  deps: EnvironmentDeps,
  link: Link,
  { graceMs, inside }: { graceMs: number; inside: Inside },
): Promise<{ survivors: number }> {
  const { master, folder, environmentId } = link;
  const survivors = numberOf(
    (await inside(endArgv(environmentId, graceMs)).catch(() => undefined))?.stdout ?? "",
  );
  if (survivors === undefined) deps.log.warn("environment-lost", { label: link.label, environmentId });
  const timer = new AbortController();
  // The guardian removes the folder there and goes; then the connection ends by itself.
  master?.stdin?.end();
  const limit = deps.clock.sleep(ANSWER_TIMEOUT_MS, timer.signal).catch(() => {});
  await Promise.race([master?.exited, limit]);
  timer.abort(new Error("closed"));
  master?.drop();
  await rm(folder, { recursive: true, force: true });
  return { survivors: survivors ?? 0 };
}
