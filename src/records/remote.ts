// Tasks that another machine does (W5): what travels between the two, and what one knows of the other.

import type { Instant } from "../kernel/time.ts";
import type { Outcome } from "./outcome.ts";
import type { RunState } from "./run.ts";
import type { ResourcesDocument } from "./workflow.ts";

export type { RemoteCaller } from "./remote-caller.ts";

/** `POST /execute`. */
export interface ExecuteRequest {
  executor: string;
  /** Default: the preferred one there. */
  version?: string | undefined;
  params: Record<string, unknown>;
  env?: Record<string, string> | undefined;
  resources?: ResourcesDocument | undefined;
  /** Repeating it is answered with the stored result (peers.md §5.2, 11). */
  idempotencyKey: string;
  /** A higher one may run again what failed. Default 1. */
  attempt?: number | undefined;
  /** The deadline, in ms from the request's arrival: a span means the same on two clocks that differ. Default: the executor's. */
  timeoutMs?: number | undefined;
  /** Whoever has not asked for so long has gone, and the task is cancelled. Default 30 s. */
  leaseMs?: number | undefined;
  /** For people there: the run and the task it is done for. */
  run?: string | undefined;
  task?: string | undefined;
}

/** What `/execute` answers: 200 when the task is over, 202 while it is not. */
export interface ExecuteAnswer {
  /** The run that does it there: `GET /execute/<id>?wait=20s`, `DELETE /execute/<id>`. */
  id: string;
  state: RunState;
  isOver: boolean;
  reason: string | null;
  outcome: Outcome | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** The wall clock there, to be compared. */
  now: string;
}

/** What a node knows of one machine for one executor; written to the node's row. */
export interface RemoteStanding {
  executor: string;
  /** Without credentials. */
  url: string;
  state: "unknown" | "online" | "offline";
  /** Since when it is so, by our clock. */
  since: Instant;
  /** Why it is offline. */
  reason: string | undefined;
  checkedAt: Instant | undefined;
  /** Of the last answer, there and back. */
  roundTripMs: number | undefined;
  /** Its wall clock minus ours. */
  skewMs: number | undefined;
  /** Calls under way from this node. */
  calls: number;
}
