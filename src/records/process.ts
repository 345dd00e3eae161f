// A process a run started, as the ledger remembers it: enough to end it later and never to end another one.

import type { Instant } from "../kernel/time.ts";

/** The identity of one process on one boot of one machine. A pid alone is none. */
export interface ProcessIdentity {
  pid: number;
  /** Kernel start time of the pid, opaque (`/proc/<pid>/stat` field 22, or `ps -o lstart`): compared for equality only. */
  startTime: string;
  /** Process group to signal; equals `pid` for what we spawn. */
  processGroup: number;
}

export interface ProcessRecord extends ProcessIdentity {
  id: string;
  runId: string;
  /** Host it lives on, see `HostIdentity`. */
  hostId: string;
  /** Redacted. */
  command: string;
  cwd: string;
  startedAt: Instant;
  endedAt: Instant | undefined;
  exitCode: number | undefined;
}

/** A machine in one boot and one pid namespace: the scope in which a pid means something (L4). */
export interface HostIdentity {
  /** Digest of the three below. */
  hostId: string;
  machineId: string;
  bootId: string;
  pidNamespace: string;
}
