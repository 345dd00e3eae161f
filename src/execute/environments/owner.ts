// Whose something is that outlives the process that made it: a container, an instance. Told by the process, not by a lease.
//
// I1. Orphaned is only what provably is: same machine, and its owner dead by pid and start time, or of an earlier boot. What
//     belongs to another machine or another pid namespace is never judged.

import type { HostIdentity } from "../../records/process.ts";
import { readHost } from "../host.ts";
import { isSameProcess, processStartTime } from "../process-table.ts";

export interface Owner {
  machineId: string;
  bootId: string;
  pidNamespace: string;
  pid: number;
  startTime: string;
}

/** This process, or another one of this machine. */
export function ownerOf(pid: number = process.pid, host: HostIdentity = readHost()): Owner {
  const { machineId, bootId, pidNamespace } = host;
  return { machineId, bootId, pidNamespace, pid, startTime: processStartTime(pid) ?? "" };
}

/** I1. */
export function isOrphaned(owner: Owner, host: Omit<Owner, "pid" | "startTime">): boolean {
  if (owner.machineId !== host.machineId) return false;
  if (owner.bootId !== host.bootId) return true;
  if (owner.pidNamespace !== host.pidNamespace) return false;
  return !isSameProcess({ pid: owner.pid, startTime: owner.startTime, processGroup: owner.pid });
}
