// Whose something is that outlives the process that made it: a container, an instance. Told by the process, not by a lease.
//
// I1. Orphaned is only what provably is: same machine, and its owner dead by pid and start time, or of an earlier boot. What
//     belongs to another machine or another pid namespace is never judged.

import { createHash } from "node:crypto";
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

/**
 * An owner as part of a file's or an instance's name: letters, digits, `_`, `-` and four dots; hosts are told by digests.
 * About 50 characters.
 */
export function ownerWords(owner: Owner = ownerOf()): string {
  const { machineId, bootId, pidNamespace } = digested(owner);
  // macOS tells times with spaces; a name must stay one.
  return [machineId, bootId, pidNamespace, owner.pid, owner.startTime.replace(/[^\w-]/g, "_")].join(".");
}

/** Whether who is told by such words is certainly gone (I1). What is no such text belongs to nobody we know: false. */
export function areOrphansWords(words: string, host: HostIdentity = readHost()): boolean {
  const [machineId = "", bootId = "", pidNamespace = "", pid = "", startTime = ""] = words.split(".");
  if (!/^\d+$/.test(pid)) return false;
  return isOrphaned({ machineId, bootId, pidNamespace, pid: Number(pid), startTime }, digested(host));
}

function digested({ machineId, bootId, pidNamespace }: Pick<Owner, "machineId" | "bootId" | "pidNamespace">) {
  const short = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8);
  return { machineId: short(machineId), bootId: short(bootId), pidNamespace: short(pidNamespace) };
}
