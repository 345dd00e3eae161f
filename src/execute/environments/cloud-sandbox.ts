// What a cloud service must be able to do for its sandboxes to be environments: cloud-place.ts does the rest.
//
// I1. Every sandbox of ours carries the labels below from the moment it is made: so it is found again by any node.
// I2. No variable is given to a sandbox at its making: what commands may see travels as files (env-file.ts).

import type { Launched } from "./place.ts";

/** Marks what is ours; its value tells how long it is meant to live. */
export const LABEL = "nightshift";
export const SCOPE_LABEL = "nightshift-scope";
export const OWNER_LABEL = "nightshift-owner";
export const RUN_LABEL = "nightshift-run";

/** run = gone with its run; shared = left running for the next run; kept = its files outlive it. */
export type SandboxScope = "run" | "shared" | "kept";
export type SandboxLabels = Readonly<Record<string, string>>;

export interface SandboxRequest {
  /** Unique within the account: letters, digits and dashes, at most 63. */
  name: string;
  scope: SandboxScope;
  labels: SandboxLabels;
  /** Ends a creation that takes long; what is made nevertheless is removed. */
  signal: AbortSignal | undefined;
}

/** How a short program of ours ended. Its streams may come mixed. */
export interface ShortAnswer {
  exitCode: number;
  text: string;
}

export interface StartRequest {
  /** Tells this call's files from others'; letters and digits. No mark: what carries it is not ended with the call. */
  word: string;
  /** Program and arguments, verbatim. */
  argv: readonly string[];
  hasStdin: boolean;
  /** Of each stream, its newest bytes, that anybody will ask for: what is before may be left out. Undefined = all. */
  keepBytes: number | undefined;
}

export interface CloudSandbox {
  /** As people find it at the service. */
  id: string;
  /** Where sessions start. Undefined = `workspace` in the home of its user. */
  cwd: string | undefined;
  /** Bytes of one program's arguments together; undefined = what Linux takes. */
  longestArgument?: number;
  /** Told once, before anything is launched: a folder of ours inside. */
  prepare?(stateFolder: string): Promise<void>;
  run(argv: readonly string[]): Promise<ShortAnswer>;
  launch(request: StartRequest): Promise<Launched>;
  write(path: string, bytes: Uint8Array): Promise<void>;
  /** The whole file. Left out where a program's pipe does as well. */
  read?(path: string): Promise<Uint8Array>;
  /** Undefined = it runs. Rejects when the service does not answer. */
  whyGone(): Promise<string | undefined>;
  relabel(labels: SandboxLabels): Promise<void>;
  /** It ends, its files stay for `find` or `create` with the same name. */
  keep(): Promise<void>;
  /** It goes on without us, until the service ends it for being idle. */
  leave(): Promise<void>;
  /** Gone, with its files. One that is gone already is no error. */
  remove(): Promise<void>;
}

export interface ListedSandbox {
  labels: SandboxLabels;
  name: string;
  sandbox: CloudSandbox;
}

/** What kind of refusal an error of the SDK is. */
export type Refusal = "auth" | "forbidden" | "quota" | "missing" | "refused" | "unreachable";

export interface CloudService {
  /** Runs already, or was kept and is started for us. Undefined = there is none of that name. */
  find(name: string, scope: SandboxScope): Promise<CloudSandbox | undefined>;
  create(request: SandboxRequest): Promise<CloudSandbox>;
  /** Those of ours that run. */
  list(): AsyncIterable<ListedSandbox>;
  /** Resolves when the service knows us. */
  ping(): Promise<void>;
  /** By class and code, never by its words. Undefined = no error of the service: a bug. */
  refusalOf(error: unknown): Refusal | undefined;
  /** Ends what the SDK holds here. */
  close(): void;
}
