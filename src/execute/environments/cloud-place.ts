// An environment in a sandbox of a cloud service: made or found again, used through the service's SDK, and left as its
// scope says.
//
// I1. A run's own sandbox is removed with its environment, whatever happened. A shared one is left running, or kept: what
//     the run left in it is ended first.
// I2. What is made while nobody waits any more is removed.
// I3. A sandbox that is gone is told as a lost place. It is looked at while a command runs: a stream may stay silent for ever.
// I4. At most one at a time uses a shared sandbox: who opens one holds its lock (scope-locks.ts). What an earlier user left
//     in it is ended before the first command.

import { createHash } from "node:crypto";
import { whenAborted } from "../../kernel/abort.ts";
import { Fault, isFault, messageOf } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import type { Environment } from "../../records/environment.ts";
import { formatEnvironment } from "../../records/environment-spec.ts";
import type { CommandExit } from "../spawn-held.ts";
import { cloudFault } from "./cloud-faults.ts";
import { cloudFiles } from "./cloud-files.ts";
import {
  type CloudSandbox,
  type CloudService,
  LABEL,
  OWNER_LABEL,
  RUN_LABEL,
  type SandboxLabels,
  type SandboxScope,
  SCOPE_LABEL,
} from "./cloud-sandbox.ts";
import { cloudService } from "./cloud-services.ts";
import { cpuArgv, endArgv, numberOf } from "./end-inside.ts";
import { exportsOf, travellingEnv } from "./env-file.ts";
import type { EnvironmentDeps, Launched, LaunchRequest, Place, PlaceFiles } from "./place.ts";
import { ownerTag } from "./reap-sandboxes.ts";
import { DEFAULT_CPU_SAMPLE_MS } from "./run-call.ts";
import { makeShellEnvironment } from "./shell-environment.ts";

/** Opens one. Throws Fault `environment.unusable`. */
export async function openCloud(deps: EnvironmentDeps, spec: CloudSpec): Promise<Environment> {
  const service = await cloudService(deps, spec);
  const environmentId = deps.newId();
  const cloud: Cloud = {
    ...{ deps, spec, service, environmentId },
    label: formatEnvironment(spec),
    scope: scopeOf(deps, spec),
  };
  try {
    const { sandbox, isFound } = await sandboxFor(cloud);
    try {
      if (isFound) await clearOut(sandbox);
      return makeShellEnvironment(deps, await makePlace(cloud, sandbox));
    } catch (error) {
      await endSandbox(cloud, sandbox).catch(() => {});
      throw error;
    }
  } catch (error) {
    service.close();
    if (isFault(error) || deps.signal?.aborted) throw error;
    throw cloudFault({ ...cloud, error, doing: "no sandbox could be had" });
  }
}

interface Cloud {
  deps: EnvironmentDeps;
  spec: CloudSpec;
  service: CloudService;
  environmentId: string;
  label: string;
  scope: SandboxScope;
}

function scopeOf({ scopeKey }: EnvironmentDeps, { persist }: CloudSpec): SandboxScope {
  if (scopeKey === undefined) return "run";
  return persist ? "kept" : "shared";
}

async function sandboxFor(cloud: Cloud): Promise<{ sandbox: CloudSandbox; isFound: boolean }> {
  const { deps, service, scope } = cloud;
  const name = sandboxName(cloud);
  const labels = labelsOf(cloud);
  const found = scope === "run" ? undefined : await service.find(name, scope);
  if (found) {
    await found.relabel(labels);
    return { sandbox: found, isFound: true };
  }
  const making = service.create({ name, scope, labels, signal: deps.signal });
  return { sandbox: await unlessAborted(making, deps.signal), isFound: false };
}

function sandboxName({ deps, scope, environmentId }: Cloud): string {
  if (scope === "run") return `nightshift-${environmentId.toLowerCase()}`;
  const digest = createHash("sha256")
    .update(deps.scopeKey ?? "")
    .digest("hex");
  return `nightshift-${scope}-${digest.slice(0, 16)}`;
}

function labelsOf({ deps, scope }: Cloud): SandboxLabels {
  return {
    [LABEL]: "sandbox",
    [SCOPE_LABEL]: scope,
    [OWNER_LABEL]: ownerTag(),
    [RUN_LABEL]: deps.env.NIGHTSHIFT_RUN_ID ?? "",
  };
}

/** I2. */
async function unlessAborted(
  making: Promise<CloudSandbox>,
  signal: AbortSignal | undefined,
): Promise<CloudSandbox> {
  if (!signal) return making;
  const abort = whenAborted(signal);
  try {
    await Promise.race([making, abort.promise]);
    if (!signal.aborted) return await making;
    void making.then((made) => made.remove()).catch(() => {});
    throw signal.reason;
  } finally {
    abort.release();
  }
}

/** I4. The word is looked for in two halves, as everywhere (end-inside.ts). */
async function clearOut(sandbox: CloudSandbox): Promise<void> {
  await sandbox.run(endArgv("NIGHTSHIFT_ENVIRONMENT_ID=", 0));
  await sandbox.run(["sh", "-c", `rm -rf -- "\${TMPDIR:-/tmp}"/.nightshift-*`]);
}

/** Makes the folders; says the shell, the folder of ours, and where sessions start. */
const PREPARE = `umask 077
dir=\${TMPDIR:-/tmp}/.nightshift-$1
mkdir -p "$dir" || exit 1
work=\${2:-\${HOME:-/tmp}/workspace}
[ -d "$work" ] || ( umask 022; mkdir -p "$work" ) || exit 1
cd "$work" || exit 1
command -v bash || echo sh
echo "$dir"
pwd`;

async function makePlace(cloud: Cloud, sandbox: CloudSandbox): Promise<Place> {
  const { deps, label, environmentId, spec } = cloud;
  const answer = await sandbox.run(["sh", "-c", PREPARE, "sh", environmentId, sandbox.cwd ?? ""]);
  const [shell = "", stateFolder = "", cwd = ""] = answer.text.trim().split("\n").slice(-3);
  if (answer.exitCode !== 0 || !cwd.startsWith("/") || !/^\/[\w./-]+$/.test(stateFolder))
    throw new Fault(
      "environment.unusable",
      `${label} cannot run commands: ${answer.text.trim().split("\n").at(-1)}`,
      {
        hint: "Use an image that has sh, cat, mkdir and base64.",
      },
    );
  const marks = { ...travellingEnv(deps.env, deps.jobEnvNames), NIGHTSHIFT_ENVIRONMENT_ID: environmentId };
  await sandbox.write(`${stateFolder}/env`, Buffer.from(exportsOf(marks)));
  await sandbox.prepare?.(stateFolder);
  return {
    backend: spec.backend,
    ...{ label, environmentId, shell, cwd, stateFolder },
    isBash: shell.endsWith("/bash"),
    ...(sandbox.longestArgument !== undefined && { longestArgument: sandbox.longestArgument }),
    launch: (request) => launchInside(cloud, sandbox, { ...request, stateFolder }),
    async end(callId, { graceMs, launched }) {
      const ended = await sandbox.run(endArgv(callId, graceMs)).catch(() => undefined);
      // The word of the end, and what was written before it, are on their way.
      if (ended) await settled(deps, launched);
      launched.drop();
      return { survivors: numberOf(ended?.text ?? "") ?? 0 };
    },
    cpuMs: async (callId) => numberOf((await sandbox.run(cpuArgv(callId))).text),
    whyLost: (exit) => whyLost(cloud, sandbox, exit),
    ...(sandbox.read && {
      files: guarded(cloud, sandbox, cloudFiles({ deps, label, stateFolder, sandbox })),
    }),
    close: ({ graceMs }) => closePlace(cloud, sandbox, { graceMs, stateFolder }),
  };
}

async function launchInside(
  cloud: Cloud,
  sandbox: CloudSandbox,
  request: LaunchRequest & { stateFolder: string },
): Promise<Launched> {
  const { deps, label, environmentId } = cloud;
  const { argv, callId, env, hasStdin, pty, keepBytes, stateFolder } = request;
  if (pty)
    throw new Fault("environment.unusable", `${label} has no terminals yet`, {
      hint: "Start the command without a terminal.",
    });
  const marks = [
    `NIGHTSHIFT_RUN_ID=${deps.env.NIGHTSHIFT_RUN_ID ?? ""}`,
    `NIGHTSHIFT_ENVIRONMENT_ID=${environmentId}`,
    `NIGHTSHIFT_CALL_ID=${callId}`,
  ];
  try {
    if (Object.keys(env).length > 0)
      await sandbox.write(`${stateFolder}/env.${callId}`, Buffer.from(exportsOf(env)));
    const launched = await sandbox.launch({
      ...{ hasStdin, keepBytes },
      word: callId.slice(-16),
      argv: ["env", ...marks, ...argv],
    });
    return watched(cloud, sandbox, launched);
  } catch (error) {
    throw await lostAtStart(cloud, sandbox, error);
  }
}

/** Why nothing could be started: the place is gone, or the service says no. */
async function lostAtStart(cloud: Cloud, sandbox: CloudSandbox, error: unknown): Promise<Error> {
  if (isFault(error)) return error;
  const why = await sandbox.whyGone().catch(() => undefined);
  if (why !== undefined) return goneFault(cloud, why);
  return cloudFault({ ...cloud, error, doing: "nothing can be started", code: "environment.broken" });
}

function guarded(cloud: Cloud, sandbox: CloudSandbox, files: PlaceFiles): PlaceFiles {
  const lost = async (error: unknown) => {
    throw await lostAtStart(cloud, sandbox, error);
  };
  return {
    read: (path, options) => files.read(path, options).catch(lost),
    write: (path, data, options) => files.write(path, data, options).catch(lost),
  };
}

/** I3. The launch, ended too when its sandbox is. */
function watched({ deps }: Cloud, sandbox: CloudSandbox, launched: Launched): Launched {
  const over = new AbortController();
  const everyMs = deps.cpuSampleMs ?? DEFAULT_CPU_SAMPLE_MS;
  const look = async (): Promise<CommandExit> => {
    for (;;) {
      await deps.clock.sleep(everyMs, over.signal);
      const why = await sandbox.whyGone().catch(() => undefined);
      if (why === undefined) continue;
      launched.drop();
      return { exitCode: undefined, signal: undefined };
    }
  };
  void launched.exited.then(() => over.abort(new Error("the program has ended")));
  return { ...launched, exited: Promise.race([launched.exited, look().catch(() => launched.exited)]) };
}

const SETTLE_MS = 3_000;

async function settled({ clock }: EnvironmentDeps, { exited }: Launched): Promise<void> {
  const timer = new AbortController();
  await Promise.race([exited, clock.sleep(SETTLE_MS, timer.signal).catch(() => {})]);
  timer.abort(new Error("settled"));
}

async function whyLost(cloud: Cloud, sandbox: CloudSandbox, exit: CommandExit): Promise<Error | undefined> {
  // A code is the program's own word: who brought it was there.
  if (exit.exitCode !== undefined) return undefined;
  try {
    const why = await sandbox.whyGone();
    if (why !== undefined) return goneFault(cloud, why);
  } catch (error) {
    return cloudFault({ ...cloud, error, doing: "it does not answer", code: "environment.broken" });
  }
  return goneFault(cloud, "the connection to the command broke off");
}

function goneFault({ label }: Cloud, why: string): Fault {
  return new Fault("environment.broken", `the sandbox of ${label} is gone: ${why}`, {
    hint: "Look at the service and at the sandbox's `timeout`; the command may have run in part.",
    retry: "later",
  });
}

async function closePlace(
  cloud: Cloud,
  sandbox: CloudSandbox,
  { graceMs, stateFolder }: { graceMs: number; stateFolder: string },
): Promise<{ survivors: number }> {
  const { service, deps, scope, environmentId } = cloud;
  let survivors = 0;
  try {
    if (scope !== "run") {
      const ended = await sandbox.run(endArgv(environmentId, graceMs)).catch(() => undefined);
      survivors = numberOf(ended?.text ?? "") ?? 0;
      await sandbox.run(["rm", "-rf", "--", stateFolder]).catch(() => undefined);
    }
    await endSandbox(cloud, sandbox);
    return { survivors };
  } catch (error) {
    deps.log.warn("sandbox-not-removed", { sandbox: sandbox.id, error: messageOf(error) });
    return { survivors: survivors + 1 };
  } finally {
    service.close();
  }
}

/** I1. A shared one that is gone by now is nobody's loss. */
async function endSandbox({ scope }: Cloud, sandbox: CloudSandbox): Promise<void> {
  if (scope === "run") return sandbox.remove();
  if ((await sandbox.whyGone()) !== undefined) return;
  await (scope === "kept" ? sandbox.keep() : sandbox.leave());
}
