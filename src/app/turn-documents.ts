// An agent's turns as every surface prints them.

import type { TriggerEventDocument } from "../records/trigger.ts";
import type { RunDocument } from "./documents.ts";
import type { RunTimes } from "./run-times.ts";

/** One turn of an agent: what it said, the tools it called, what the model calls took. */
export interface TurnDocument {
  turn: number;
  text: string;
  tools: {
    name: string;
    /** What the call was about, in a few words. */
    summary: string;
    /** Null = it did not end. */
    durationMs: number | null;
    /** Null = success. */
    error: string | null;
    resultBytes: number | null;
  }[];
  calls: {
    role: string;
    model: string;
    attempts: number;
    durationMs: number;
    firstTokenMs: number | null;
    end: string;
    inputTokens: number;
    outputTokens: number;
    costUsd: number | null;
  }[];
}

/**
 * `run show`: the run with an agent's turns (none for other work), where its conversation is kept, and the event that set
 * it off.
 */
export type RunShowDocument = RunDocument & {
  turns: TurnDocument[];
  trajectoryFile: string | null;
  event: TriggerEventDocument | null;
  /** Where its time went, to the millisecond. */
  times: RunTimes;
};
