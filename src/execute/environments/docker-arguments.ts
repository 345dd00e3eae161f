// The words that make a container: the security set of DESIGN §8, the limits, and the labels it is found by.
//
// I1. Everything is dropped and a little given back; nothing a spec says can widen it (no privileged, no devices, no
//     sockets, no host namespaces).

import { createHash } from "node:crypto";
import type { DockerSpec } from "../../records/environment-spec.ts";

/** Where the run's folder is inside. */
export const WORKSPACE = "/workspace";
/** Every container of ours carries it. */
export const LABEL = "nightshift.environment";
export const OWNER_LABEL = "nightshift.owner";
export const RUN_LABEL = "nightshift.run";

/** What root inside needs to work on files of several owners, and to become another user. */
const CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"];
const DEFAULT_PIDS = 256;
/** Executable, since builds and tests run things there. */
const TMPFS = [
  ["/tmp", "512m"],
  ["/var/tmp", "256m"],
  ["/run", "64m"],
] as const;

export interface ContainerRequest {
  environmentId: string;
  runId: string;
  scopeKey: string | undefined;
  /** Whose the container is (reap-containers.ts). */
  owner: string;
  spec: DockerSpec;
  /** The run's folder on this machine. */
  workdir: string;
}

export const containerName = (environmentId: string) => `nightshift-${environmentId}`;

/** Arguments of `docker run` for a container that waits for commands. */
export function runArguments(request: ContainerRequest): string[] {
  const { spec, environmentId, runId, owner } = request;
  const { limits = {} } = spec;
  return [
    "run",
    "--detach",
    "--init",
    "--pull=never",
    `--name=${containerName(environmentId)}`,
    `--label=${LABEL}=${environmentId}`,
    `--label=${RUN_LABEL}=${runId}`,
    `--label=${OWNER_LABEL}=${owner}`,
    "--cap-drop=ALL",
    ...CAPABILITIES.map((name) => `--cap-add=${name}`),
    "--security-opt=no-new-privileges",
    `--pids-limit=${limits.pids ?? DEFAULT_PIDS}`,
    ...(limits.memoryMb === undefined
      ? []
      : [`--memory=${limits.memoryMb}m`, `--memory-swap=${limits.memoryMb}m`]),
    ...(limits.cpu === undefined ? [] : [`--cpus=${limits.cpu}`]),
    ...TMPFS.map(([path, size]) => `--tmpfs=${path}:rw,exec,nosuid,nodev,mode=1777,size=${size}`),
    ...(spec.network === "none" ? ["--network=none"] : []),
    ...(spec.user === undefined ? [] : [`--user=${spec.user}`]),
    ...workspaceArguments(request),
    `--workdir=${WORKSPACE}`,
    "--entrypoint=sh",
    spec.image,
    "-c",
    "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done",
  ];
}

function workspaceArguments({ spec, workdir, scopeKey, environmentId }: ContainerRequest): string[] {
  if (spec.workdir !== "own") return [`--mount=type=bind,source=${workdir},target=${WORKSPACE}`];
  const volume = spec.persist ? keptVolume(scopeKey) : undefined;
  return [`--mount=type=volume,source=${volume ?? `nightshift-${environmentId}`},target=${WORKSPACE}`];
}

/** The volume that the next run of the same scope finds again; none for a run's own. */
export function keptVolume(scopeKey: string | undefined): string | undefined {
  return scopeKey && `nightshift-kept-${createHash("sha256").update(scopeKey).digest("hex").slice(0, 16)}`;
}
