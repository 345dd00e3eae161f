// The port of background processes: a command that outlives its call is an object, never an orphan (DESIGN §8).

import type { Instant } from "../kernel/time.ts";

export type BackgroundState = "running" | "exited" | "killed" | "lost";

export interface BackgroundProcess {
  /** `proc_` and 12 characters; a unique prefix is accepted everywhere. */
  id: string;
  /** Redacted. */
  command: string;
  cwd: string;
  environment: string;
  /** The run whose end ends it; undefined = the home's, or a session's. */
  ownerRunId: string | undefined;
  pid: number | undefined;
  state: BackgroundState;
  exitCode: number | undefined;
  startedAt: Instant;
  endedAt: Instant | undefined;
  /** All output so far, also what is no longer kept. */
  outputBytes: number;
}

/** Who is told of a process, and of what (upstream.md 1.9). */
export interface BackgroundNotify {
  /** One message when it has ended, unless somebody waited for it or read its log by then. */
  onExit: boolean;
  /** Deliver targets, as in a job; or the run's own log. */
  to: { kind: "targets"; targets: readonly string[] } | { kind: "run"; runId: string };
  /** Lines that are told of as they come: a text they contain, or a regular expression. */
  watch?: readonly WatchPattern[];
  /** At least 60 s: news of a process that prints, so often. */
  heartbeatMs?: number;
}

export type WatchPattern = { text: string } | { regex: string };

export interface StartBackground {
  command: string;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  pty?: boolean;
  /** Its owner's end does not end it. */
  persist?: boolean;
  notify?: AskedNotify;
}

/** Without targets the owner's own run is told, where there is one. */
export interface AskedNotify extends Pick<BackgroundNotify, "onExit" | "watch" | "heartbeatMs"> {
  targets?: readonly string[];
}

/** A background process as the ledger remembers it: enough to find it again after a crash, and never another one. */
export interface BackgroundRecord extends BackgroundProcess {
  /** Who started it: `cli`, `run`, `mcp:<session>`. */
  session: string;
  /** Where its pid means something (L4). */
  hostId: string;
  machineId: string;
  bootId: string;
  /** Kernel start time of `pid`; undefined where the environment tells none. */
  startTime: string | undefined;
  processGroup: number | undefined;
  /** The Nightshift process that started it. What is not supervised ends with that one. */
  holderPid: number;
  holderStartTime: string;
  /** A shim of its own keeps its output and its exit code: it is adopted after its starter's death. */
  isSupervised: boolean;
  /** Its owner's end does not end it. */
  persist: boolean;
  /** The first piece of its output; later ones lie beside it. */
  logFile: string | undefined;
  notify: BackgroundNotify | undefined;
  /** What watching has come to, opaque to the ledger (compared as it stands). */
  progress: string | undefined;
  /** When somebody learnt of its end by `wait` or `log`: then no message is sent. */
  consumedAt: Instant | undefined;
  /** When its end was put into the outbox. */
  noticedAt: Instant | undefined;
  /** When somebody asked the holder to end it. */
  killRequestedAt: Instant | undefined;
}

export type WaitAnswer = {
  status: "exited" | "timeout" | "interrupted";
  process: BackgroundProcess;
  output: string;
};

/** One owner's view: it sees and touches what its run started, nothing else. */
export interface Processes {
  start(options: StartBackground, signal: AbortSignal): Promise<BackgroundProcess>;
  list(): Promise<readonly BackgroundProcess[]>;
  /** The newest output without any side effect. Throws `process.unknown`. */
  poll(
    id: string,
    options?: { characters?: number },
  ): Promise<{ process: BackgroundProcess; output: string }>;
  /** Lines of what is kept (200,000 characters, the tail). Default the last 200; `offset` counts from the head. */
  log(
    id: string,
    options?: { offset?: number; lines?: number },
  ): Promise<{ process: BackgroundProcess; output: string; isCut: boolean }>;
  /** At most `timeoutMs`; 0 or less is refused (`input.invalid`). */
  wait(id: string, options: { timeoutMs: number; signal: AbortSignal }): Promise<WaitAnswer>;
  write(id: string, data: string): Promise<void>;
  closeStdin(id: string): Promise<void>;
  /** The whole tree. */
  kill(id: string): Promise<{ process: BackgroundProcess; survivors: number; wasRunning: boolean }>;
  /** Gives it to the run's parent, or to the home where there is none: this owner's end no longer ends it. */
  handOff(id: string): Promise<BackgroundProcess>;
  /** Ends all that still run. Says how many there were and how many would not go. */
  dispose(): Promise<{ ended: number; survivors: number }>;
}
