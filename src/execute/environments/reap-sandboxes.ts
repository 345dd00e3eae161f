// Sandboxes that were left behind: found by their labels and ended, at the service itself.
//
// I1. Only what is provably orphaned (owner.ts), or of a run that was taken over. Another machine's stay.
// I2. One whose files are to be kept is put to rest, not removed.

import { createHash } from "node:crypto";
import { readHost } from "../host.ts";
import { type CloudService, OWNER_LABEL, RUN_LABEL, SCOPE_LABEL } from "./cloud-sandbox.ts";
import { isOrphaned, type Owner, ownerOf } from "./owner.ts";

/** The label of this process's sandboxes: no identity of the machine leaves it as it is. */
export function ownerTag(owner: Owner = ownerOf()): string {
  const { machineId, bootId, pidNamespace, pid, startTime } = owner;
  return [digest(machineId), digest(bootId), digest(pidNamespace), pid, startTime].join("-");
}

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

function parseOwner(tag: string): Owner | undefined {
  const [machineId = "", bootId = "", pidNamespace = "", pid, startTime = ""] = tag.split("-");
  if (!/^\d+$/.test(pid ?? "")) return undefined;
  return { machineId, bootId, pidNamespace, pid: Number(pid), startTime };
}

export interface ReapedSandbox {
  name: string;
  runId: string;
}

/** Ends those whose owner is dead. Throws the SDK's errors. */
export function reapSandboxes(service: CloudService): Promise<ReapedSandbox[]> {
  const { machineId, bootId, pidNamespace } = readHost();
  const host = {
    machineId: digest(machineId),
    bootId: digest(bootId),
    pidNamespace: digest(pidNamespace),
  };
  return endSandboxes(service, (labels) => {
    const owner = parseOwner(labels[OWNER_LABEL] ?? "");
    return owner !== undefined && isOrphaned(owner, host);
  });
}

/** Ends those of runs that were taken over: their claims are ours alone (law 3). Throws the SDK's errors. */
export function endSandboxesOf(service: CloudService, runIds: ReadonlySet<string>): Promise<ReapedSandbox[]> {
  return endSandboxes(service, (labels) => runIds.has(labels[RUN_LABEL] ?? ""));
}

async function endSandboxes(
  service: CloudService,
  isWanted: (labels: Readonly<Record<string, string>>) => boolean,
): Promise<ReapedSandbox[]> {
  const ended: ReapedSandbox[] = [];
  for await (const { name, labels, sandbox } of service.list()) {
    if (!isWanted(labels)) continue;
    await (labels[SCOPE_LABEL] === "kept" ? sandbox.keep() : sandbox.remove());
    ended.push({ name, runId: labels[RUN_LABEL] ?? "" });
  }
  return ended;
}
