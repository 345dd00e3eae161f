// The name of an instance: whose it is and for which run, so that one that was left behind is known by its name alone
// (Apptainer has no labels for what runs).
//
// I1. Only letters, digits, `-` and dots, no path separator; fits a file's name. Hosts are told by digests.

import { createHash } from "node:crypto";
import type { HostIdentity } from "../../records/process.ts";
import { readHost } from "../host.ts";
import { isOrphaned, type Owner, ownerOf } from "./owner.ts";

const PREFIX = "nightshift";

export interface InstanceName {
  owner: Owner;
  runId: string;
  environmentId: string;
}

/** The name of this process's instance. */
export function instanceName(of: Omit<InstanceName, "owner">, host: HostIdentity = readHost()): string {
  const { machineId, bootId, pidNamespace } = digested(host);
  const { pid, startTime } = ownerOf(process.pid, host);
  // macOS tells times with spaces; it has no Apptainer, but a name must stay one.
  const words = [startTime, of.runId, of.environmentId].map((word) => word.replace(/[^\w-]/g, "_"));
  return [PREFIX, machineId, bootId, pidNamespace, pid, ...words].join(".");
}

/** Undefined = not one of ours. The owner's host is digested, as `isInstanceOrphaned` expects it. */
export function parseInstanceName(name: string): InstanceName | undefined {
  const [prefix, machineId = "", bootId = "", pidNamespace = "", pid, startTime = "", runId = "", id] =
    name.split(".");
  if (prefix !== PREFIX || id === undefined || !/^\d+$/.test(pid ?? "")) return undefined;
  return {
    owner: { machineId, bootId, pidNamespace, pid: Number(pid), startTime },
    runId,
    environmentId: id,
  };
}

/** Whether the process that made it is certainly gone (owner.ts). */
export function isInstanceOrphaned({ owner }: InstanceName, host: HostIdentity = readHost()): boolean {
  return isOrphaned(owner, digested(host));
}

function digested({ machineId, bootId, pidNamespace }: HostIdentity) {
  const short = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8);
  return { machineId: short(machineId), bootId: short(bootId), pidNamespace: short(pidNamespace) };
}
