// A node: one running Nightshift process that fires and runs.

import type { Instant } from "../kernel/time.ts";
import type { RemoteStanding } from "./remote.ts";
import type { MachineResources } from "./resources.ts";

export interface NodeRecord {
  id: string;
  /** For people: host name and pid. */
  name: string;
  hostId: string;
  bootId: string;
  pid: number;
  startTime: string;
  version: string;
  startedAt: Instant;
  lastSeenAt: Instant;
  /** End of its last complete scheduler pass. */
  lastPassAt: Instant | undefined;
  /** Its wall clock minus the ledger's at the last pass, ms. */
  clockOffsetMs: number;
  stoppingAt: Instant | undefined;
  stoppedAt: Instant | undefined;
  maxParallelRuns: number;
  liveRuns: number;
  /** Where it serves HTTP, if it does. */
  url: string | undefined;
  /** Why its last pass failed, if it did. */
  lastError: string | undefined;
  /** Its last measurement worth telling; absent = not measured yet. */
  resources?: MachineResources | undefined;
  /** How the machines of its remote executors stand, as far as it knows. */
  remotes?: readonly RemoteStanding[] | undefined;
  /** What its process holds in memory. */
  memory?: NodeMemory | undefined;
}

/** In bytes, and in pieces by store. */
export interface NodeMemory {
  at: Instant;
  rssBytes: number;
  heapUsedBytes: number;
  heapTotalBytes: number;
  externalBytes: number;
  /** By name: live runs, parsed jobs, lines of the log, … */
  counts: Readonly<Record<string, number>>;
}
