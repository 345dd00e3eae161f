// A node: one running Nightshift process that fires and runs.

import type { Instant } from "../kernel/time.ts";
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
}
