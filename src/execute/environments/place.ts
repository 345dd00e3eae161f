// What a backend must be able to do: start a program inside, end what a call left inside, and say whether it still lives.
// Everything else of an environment (sessions, results, files) is built on these by shell-environment.ts.
//
// I1. A program started inside carries NIGHTSHIFT_RUN_ID, NIGHTSHIFT_ENVIRONMENT_ID and NIGHTSHIFT_CALL_ID, in its
//     environment or its arguments: that is how what a call left is found again (L10).

import type { Readable, Writable } from "node:stream";
import type { Log } from "../../kernel/log.ts";
import type { Clock } from "../../kernel/time.ts";
import type { PipePool } from "../pipe-pool.ts";
import type { CommandExit } from "../spawn-held.ts";
import type { ProbeWalls } from "./bubblewrap.ts";

/** What opening any environment needs. One object serves all backends. */
export interface EnvironmentDeps {
  clock: Clock;
  log: Log;
  newId(): string;
  /** The command's whole environment (S2), made by `commandEnv`: the run's mark is in it. */
  env: Readonly<Record<string, string>>;
  /** Names in `env` that the job gave. What only this machine knows (its PATH, its HOME) does not travel elsewhere. */
  jobEnvNames: readonly string[];
  /** What programs of ours (docker, ssh) get: the node's own environment. Never a command's. */
  nodeEnv: Readonly<Record<string, string | undefined>>;
  /** A variable of the node or of the home's `.env`: the keys of services. Default: `nodeEnv` alone. */
  variable?: ((name: string) => string | undefined) | undefined;
  /** The run's workdir or workspace on this machine, absolute. */
  workdir: string;
  /** Stands for the scope that keeps its files (scope-locks.ts); undefined = the run's own. */
  scopeKey?: string | undefined;
  /** This machine's folder for what the scope keeps, made on use; undefined without a scope. Never the run's to remove. */
  keptFolder?: string | undefined;
  /** A private folder (0700) of the run; what is made in it goes with `dispose`. */
  tempFolder: string;
  /** TERM → KILL. Default 2 s. Asked for at each use. */
  readonly graceMs?: number;
  /** Ends what may take long while opening: fetching an image. `openEnvironment` then rejects with its reason. */
  signal?: AbortSignal;
  /** Between looks at CPU time while a command is silent. Default 5 s. */
  cpuSampleMs?: number;
  pipes?: PipePool;
  /** The node's own probe; by default each opening looks whether its walls stand. */
  probeWalls?: ProbeWalls | undefined;
}

/** Whether an environment can be used here. */
export type EnvironmentCheck =
  | { usable: true; notes: string[] }
  | { usable: false; why: string; hint: string };

/** What a check may look at: programs are found along `nodeEnv.PATH`. */
export type CheckDeps = Pick<EnvironmentDeps, "nodeEnv" | "clock" | "variable">;

export const DEFAULT_GRACE_MS = 2_000;

/** Between looks whether what a place needs (an engine, a machine) has come back: a minute in all. */
export const RETURN_WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000] as const;

/** A program that was started inside. */
export interface Launched {
  stdout: Readable;
  /** Absent with a terminal. */
  stderr: Readable | undefined;
  stdin: Writable | undefined;
  /** On this machine: of the program itself, or of the client that carries it. Undefined = no process of ours does. */
  pid: number | undefined;
  /** Kernel start time of that pid (process-table.ts); empty if it was gone already. */
  startTime: string;
  /** The program's end, or its client's. Never rejects. */
  exited: Promise<CommandExit>;
  /** Ends the client at once (the program inside is ended by `Place.end`). Idempotent. */
  drop(): void;
  /** It may outlive its call without keeping this process alive. */
  unref(): void;
}

export interface LaunchRequest {
  callId: string;
  /** Program and arguments, verbatim; the shell of the place is among them where one is wanted. */
  argv: readonly string[];
  /** Variables for this call alone. */
  env: Readonly<Record<string, string>>;
  hasStdin: boolean;
  /** What is kept of each stream, its newest bytes: a place far away may leave out what was before. Undefined = all counts. */
  keepBytes?: number;
  pty?: { columns: number; rows: number };
}

export interface PlaceFiles {
  read(path: string, options: { signal: AbortSignal; maxBytes?: number }): Promise<Uint8Array>;
  write(path: string, data: Uint8Array, options: { signal: AbortSignal; mode?: number }): Promise<void>;
}

export interface Place {
  backend: string;
  label: string;
  environmentId: string;
  /** `bash` or `sh`, as it is called inside. */
  shell: string;
  isBash: boolean;
  /** Where sessions start. Absolute, inside. */
  cwd: string;
  /** A folder inside that only this environment uses, 0700. */
  stateFolder: string;
  /** Longest command that can be passed as an argument, bytes; longer ones go by a file. Default: what Linux takes. */
  longestArgument?: number;
  /** Throws Fault `environment.*` when nothing can be started. */
  launch(request: LaunchRequest): Promise<Launched>;
  /** Ends everything that carries the call's mark: TERM, grace, KILL. Resolves with those that would not go. */
  end(callId: string, options: { graceMs: number; launched: Launched }): Promise<{ survivors: number }>;
  /** CPU time used by the call so far, ms; undefined where that cannot be asked. */
  cpuMs(callId: string, launched: Launched): Promise<number | undefined>;
  /** Asked when a client ended without the command's own word: the fault if the place is gone. */
  whyLost(exit: CommandExit): Promise<Error | undefined>;
  /** Files without a shell, where this process may touch them itself. */
  files?: PlaceFiles;
  /** Ends and removes all. Called once. */
  close(options: { graceMs: number }): Promise<{ survivors: number }>;
}
