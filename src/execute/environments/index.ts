// Which backends there are: one line each. A backend's code is loaded when it is used.
//
// I1. What cannot work here answers `environment.unusable` with what to do; never a silent fallback to this machine.

import { Fault, isFault } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import type { Environment } from "../../records/environment.ts";
import { type Backend, type EnvironmentSpec, formatEnvironment } from "../../records/environment-spec.ts";
import type { LocalOptions } from "./local.ts";
import type { CheckDeps, EnvironmentCheck, EnvironmentDeps } from "./place.ts";

export type { EnvironmentCheck } from "./place.ts";

interface BackendEntry<Spec extends EnvironmentSpec> {
  open(deps: EnvironmentDeps, spec: Spec, options: OpenOptions): Promise<Environment>;
  check(deps: CheckDeps, spec: Spec): Promise<EnvironmentCheck>;
}

/** `hide` is the local backend's (S1): other backends do not see this machine at all. */
export interface OpenOptions extends LocalOptions {
  /** The work's effects allow a command to run again: a place that dies is made anew, once for each call. */
  isRepeatable?: boolean;
  /** In a lost place's stead: what it needs may be on its way back (recreate.ts). */
  isAnew?: boolean;
  /** The job named a workdir of this machine: where the place has files of its own, it is brought in and back. */
  isWorkdirSynced?: boolean;
}

type Table = { [Name in Backend]: BackendEntry<Extract<EnvironmentSpec, { backend: Name }>> };

/** Which service it is stands in cloud-services.ts. */
const CLOUD: BackendEntry<CloudSpec> = {
  open: async (deps, spec) => (await import("./cloud-place.ts")).openCloud(deps, spec),
  check: async (deps, spec) => (await import("./cloud-check.ts")).checkCloud(deps, spec),
};

const TABLE: Table = {
  local: {
    open: async (deps, spec, options) => (await import("./local.ts")).openLocal(deps, spec, options),
    check: async (deps, spec) => (await import("./check-local.ts")).checkLocal(deps, spec),
  },
  docker: {
    open: async (deps, spec) => (await import("./docker.ts")).openDocker(deps, spec),
    check: async (deps, spec) => (await import("./docker-check.ts")).checkDocker(deps, spec),
  },
  ssh: {
    open: async (deps, spec) => (await import("./ssh.ts")).openSsh(deps, spec),
    check: async (deps, spec) => (await import("./ssh.ts")).checkSsh(deps, spec),
  },
  singularity: {
    open: async (deps, spec) => (await import("./singularity.ts")).openSingularity(deps, spec),
    check: async (deps, spec) => (await import("./singularity-check.ts")).checkSingularity(deps, spec),
  },
  modal: CLOUD,
  daytona: CLOUD,
  vercel: CLOUD,
};

/** Opens an environment. Throws Fault `environment.unusable` or `environment.broken`. */
export async function openEnvironment(
  deps: EnvironmentDeps,
  spec: EnvironmentSpec,
  options: OpenOptions = {},
): Promise<Environment> {
  const open = async () => {
    const environment = await entryOf(spec).open(deps, spec, options);
    if (!options.isWorkdirSynced) return environment;
    const { hasOwnFiles, openSynced } = await import("./synced.ts");
    return hasOwnFiles(spec) ? openSynced(deps, environment) : environment;
  };
  return options.isRepeatable && spec.backend !== "local"
    ? (await import("./recreate.ts")).openRecreating(deps, open)
    : options.isAnew
      ? (await import("./recreate.ts")).openAnew(deps, open)
      : open();
}

/** Whether it can be used here, or why not and what to do. Changes nothing, fetches nothing. Never throws. */
export async function checkEnvironment(deps: CheckDeps, spec: EnvironmentSpec): Promise<EnvironmentCheck> {
  try {
    return await entryOf(spec).check(deps, spec);
  } catch (error) {
    if (isFault(error)) return { usable: false, why: error.message, hint: error.hint };
    throw error;
  }
}

/** Throws `environment.unusable` with the check's own words when it cannot be used here. */
export async function requireUsable(deps: CheckDeps, spec: EnvironmentSpec): Promise<void> {
  const answer = await checkEnvironment(deps, spec);
  if (answer.usable) return;
  throw new Fault("environment.unusable", `environment ${formatEnvironment(spec)}: ${answer.why}`, {
    hint: answer.hint,
  });
}

/** The table's types tie name and spec together; TypeScript cannot see it through an index. */
function entryOf(spec: EnvironmentSpec): BackendEntry<EnvironmentSpec> {
  return TABLE[spec.backend] as BackendEntry<EnvironmentSpec>;
}

const WHAT: Readonly<Record<Backend, string>> = {
  local: "on this machine, as the node's user",
  docker: "in a container",
  ssh: "on another machine, over OpenSSH",
  singularity: "in an Apptainer or Singularity instance",
  modal: "in a Modal sandbox",
  daytona: "in a Daytona sandbox",
  vercel: "in a Vercel sandbox",
};

/** One line for people: what it is and where its commands run. */
export function describeEnvironment(spec: EnvironmentSpec): string {
  const parts = [WHAT[spec.backend]];
  if (spec.backend === "local" && spec.sandbox) parts.push("in a bubblewrap sandbox without a network");
  if ("network" in spec && spec.network === "none") parts.push("without a network");
  if ("limits" in spec && spec.limits) parts.push(...describeLimits(spec.limits));
  if ("scope" in spec && spec.scope) parts.push(`scope ${spec.scope}`);
  return `${formatEnvironment(spec)}: ${parts.join(", ")}`;
}

function describeLimits({
  cpu,
  memoryMb,
  pids,
}: NonNullable<Extract<EnvironmentSpec, { backend: "local" }>["limits"]>): string[] {
  return [
    ...(cpu === undefined ? [] : [`${cpu} cores`]),
    ...(memoryMb === undefined ? [] : [`${memoryMb} MB`]),
    ...(pids === undefined ? [] : [`${pids} processes`]),
  ];
}
