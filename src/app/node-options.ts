// What a node is told at its start, and what others may ask of it.

import type { AgentEvent } from "../records/agent-event.ts";
import type { ExecutorRegistry } from "../records/executor.ts";
import type { CloseAnswer } from "../records/ledger/claims.ts";
import type { PassResult } from "../records/ledger/slots.ts";
import type { Context } from "./context.ts";
import type { LiveRun } from "./live-run.ts";

export interface Replay {
  /** The tape's text (`output/…cassette.jsonl`). */
  tape: string;
  /** Goes live after so many of the agent's turns; undefined = never. */
  forkTurns?: number;
}

/** How this process does agents' work, beyond what jobs say. */
export interface AgentOptions {
  /** A person watches: the agent may be given the tool to schedule. Default false (law 7). */
  isAttended?: boolean;
  /** Plays a recorded run instead of asking a model. */
  replay?: Replay;
  /** Told of everything an agent here does, in order, redacted. Must not throw. */
  onEvent?(event: AgentEvent, runId: string): void;
}

export interface NodeOptions {
  context: Context;
  agent?: AgentOptions;
  /** What tasks are done by. Default: the context's. */
  executors?: ExecutorRegistry;
  /** Default: a new one. */
  id?: string;
  /** Entry of the watch thread; undefined = heartbeats on this thread. */
  watchWorker?: URL;
  /** L12. Default: the config's, else 4 × cores, at least 8. */
  maxParallelRuns?: number;
  /** Told of every run that ended here. */
  onRunEnded?(live: LiveRun, answer: CloseAnswer): void;
  onPass?(result: PassResult): void;
  leaseMs?: number;
  beatMs?: number;
  /** L7. Default: the config's `limits.quarantine`, on unless it says otherwise. */
  isQuarantineOn?: boolean;
}

export interface StopOptions {
  graceMs: number;
  hurry?: AbortSignal;
}

export interface NightshiftNode {
  readonly id: string;
  /** Where HTTP is served, for others to find. */
  announceUrl(url: string): Promise<void>;
  /** L13; idempotent. `hurry` aborting ends live runs at once. */
  stop(options: StopOptions): Promise<void>;
}

/** What a `tick` did. */
export interface TickResult {
  /** Ids of the runs it started. */
  started: readonly string[];
  /** Slots that did not run: skipped or missed. */
  closedSlots: number;
}
