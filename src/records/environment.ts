// The port of a place where commands run (DESIGN §8): the same for a local shell, a container or another machine.
//
// An expected end (any exit code, time-out, interrupt) is a value. A throw is Fault `environment.*`: the place itself is
// broken, and the command may not have run, or not to its end.

/** What one command gets. */
export interface ExecOptions {
  /** Absolute, inside the environment. Default: the session's directory, which `cd` changes for later calls. */
  cwd?: string;
  /** Added to the environment's allow-list (S2). */
  env?: Readonly<Record<string, string>>;
  stdin?: string | Uint8Array;
  /** 0 or undefined = none. Ended with exit code 124 and what was written so far. */
  timeoutMs?: number;
  signal: AbortSignal;
  /** Kept of each stream, its tail. Default 1 MB. */
  maxBytes?: number;
  /** Called for each piece of output, and when CPU time was used without any (L14). */
  onActivity?(activity: "output" | "cpu"): void;
  /** Raw pieces as they arrive, for live logs. */
  onOutput?(stream: "stdout" | "stderr", chunk: Uint8Array): void;
}

export interface CommandResult {
  /** 124 = time-out, 130 = interrupted, 128 + n = ended by signal n, as shells say. */
  exitCode: number;
  /** Bytes kept, tail first to survive. */
  stdout: Uint8Array;
  stderr: Uint8Array;
  timedOut: boolean;
  interrupted: boolean;
  /** Whether either stream was cut. */
  truncated: boolean;
  durationMs: number;
  /** The session's directory after the call. */
  cwd: string;
  /** The place had died and was made anew for this call (only where repeating is declared safe). */
  wasRecreated?: boolean;
}

/** A command that outlives its call. */
export interface SpawnedCommand {
  /** In the environment's own numbering; undefined where it tells none. */
  pid: number | undefined;
  /** Where it was started, as far as is known. */
  cwd: string;
  stdout: NodeJS.ReadableStream;
  /** Absent with a terminal: then everything comes through stdout. */
  stderr: NodeJS.ReadableStream | undefined;
  write(data: string | Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** Ends the whole tree: TERM, grace, KILL. Resolves with the number of survivors. */
  kill(options?: { graceMs?: number }): Promise<{ survivors: number }>;
  /** Settles at the end of the command itself, whoever holds its pipe. Never rejects. */
  exited: Promise<{ exitCode: number | undefined; signal: string | undefined }>;
}

export interface SpawnOptions {
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  /** A real terminal. Throws `environment.unusable` where there is none. */
  pty?: { columns: number; rows: number };
  signal: AbortSignal;
}

export interface Environment {
  /** `local`, `docker`, … */
  backend: string;
  /** Stands for what the environment is, in messages: `docker:python:3.12-slim`. */
  label: string;
  /** Where sessions start. Absolute, inside. */
  cwd: string;
  /** A folder inside that only this environment uses, 0700, absolute. Gone with it. */
  ownFolder: string;
  /** Runs one shell command (bash, else sh). Exported variables and the directory persist to later calls. */
  exec(command: string, options: ExecOptions): Promise<CommandResult>;
  spawn(command: string, options: SpawnOptions): Promise<SpawnedCommand>;
  /** Throws `environment.file-missing`, `environment.file-refused`. */
  readFile(path: string, options: { signal: AbortSignal; maxBytes?: number }): Promise<Uint8Array>;
  /** Creates folders on the way. `mode` in octal bits, default 0o644. Whole or not at all. */
  writeFile(path: string, data: Uint8Array, options: { signal: AbortSignal; mode?: number }): Promise<void>;
  /** Ends everything in it and removes what it made. Idempotent. Says what would not go. */
  dispose(): Promise<{ survivors: number }>;
}
