// The words of Apptainer and Singularity: how an instance is started, entered, listed and stopped.
//
// I1. Contained in everything, no home, no privileges; nothing a spec says can widen it. The variables of Apptainer's that
//     would (APPTAINER_BIND, …) do not reach it.
// I2. `--containall` cleans the environment of what the instance starts, not of what is entered later: every entry says
//     `--cleanenv`. Values never go by `--env`, whose text Apptainer evaluates in a shell.
// I3. The same words as root and as anybody else: `--no-privs` means nothing to those who have none.

import type { SingularitySpec } from "../../records/environment-spec.ts";
import { clientEnv } from "./env-file.ts";

/** Where the run's folder is inside. */
export const WORKSPACE = "/workspace";

export interface InstanceRequest {
  name: string;
  /** A file or folder of this machine. */
  image: string;
  spec: SingularitySpec;
  /** The run's folder on this machine. */
  workdir: string;
  /** What stands behind /tmp and /var/tmp: Apptainer's own is a small memory disk. */
  scratch: string;
  /** A folder that keeps what is written to the image; undefined = a memory disk that goes with the instance. */
  overlay: string | undefined;
  /** Whether Apptainer is asked for the limits itself. */
  withLimits: boolean;
}

/** Starts an instance; nothing runs in it but its first process. */
export function startWords(request: InstanceRequest): string[] {
  const { name, image, spec, workdir, scratch, overlay, withLimits } = request;
  return [
    "--silent",
    "instance",
    "start",
    "--containall",
    "--no-home",
    "--no-privs",
    ...(overlay === undefined ? ["--writable-tmpfs"] : ["--overlay", overlay]),
    "--workdir",
    scratch,
    "--mount",
    `type=bind,${field("source", workdir)},${field("destination", WORKSPACE)}`,
    ...(spec.network === "none" ? ["--net", "--network", "none"] : []),
    ...(withLimits ? limitWords(spec) : []),
    image,
    name,
  ];
}

function limitWords({ limits = {} }: SingularitySpec): string[] {
  return [
    ...(limits.memoryMb === undefined ? [] : ["--memory", `${limits.memoryMb}M`]),
    ...(limits.cpu === undefined ? [] : ["--cpus", String(limits.cpu)]),
    ...(limits.pids === undefined ? [] : ["--pids-limit", String(limits.pids)]),
  ];
}

/** One field of a comma-separated line, quoted as such lines are. */
function field(key: string, value: string): string {
  const text = `${key}=${value}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Runs a program in an instance; it starts in the run's folder. */
export function enterWords(name: string, argv: readonly string[]): string[] {
  return ["--silent", "exec", "--cleanenv", "--no-privs", "--pwd", WORKSPACE, `instance://${name}`, ...argv];
}

/** Ends all that runs in it, at once. */
export const stopWords = (name: string) => ["--silent", "instance", "stop", "--signal", "KILL", name];

/** As JSON: all of this user's on this machine, or one. */
export const listWords = (name?: string) => [
  "instance",
  "list",
  "--json",
  ...(name === undefined ? [] : [name]),
];

const OWN = /^(APPTAINER|SINGULARITY)_(CACHEDIR|TMPDIR|CONFIGDIR|LOCALCACHEDIR)$/;
const CREDENTIALS = /^(APPTAINER|SINGULARITY)_DOCKER_(USERNAME|PASSWORD)$/;

/** What the program gets of the node's environment (I1); a registry's credentials only while an image is fetched. */
export function singularityEnv(
  nodeEnv: Readonly<Record<string, string | undefined>>,
  { isFetching = false }: { isFetching?: boolean } = {},
): Record<string, string | undefined> {
  const own = Object.entries(nodeEnv).filter(
    ([name]) => OWN.test(name) || (isFetching && CREDENTIALS.test(name)),
  );
  return { ...clientEnv(nodeEnv), ...Object.fromEntries(own) };
}
