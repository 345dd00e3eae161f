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
  ownerRunId: string;
  pid: number | undefined;
  state: BackgroundState;
  exitCode: number | undefined;
  startedAt: Instant;
  endedAt: Instant | undefined;
  /** All output so far, also what is no longer kept. */
  outputBytes: number;
}

export interface StartBackground {
  command: string;
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  pty?: boolean;
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
  /** Ends all that still run. Says how many there were and how many would not go. */
  dispose(): Promise<{ ended: number; survivors: number }>;
}
