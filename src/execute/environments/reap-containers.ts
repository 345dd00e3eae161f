// Containers whose owner is gone: found by label and removed, running or not (hermes#75467).
//
// I1. Only what is provably ours and provably orphaned: same machine, and its owner's process dead by pid and start time,
//     or of an earlier boot. Another machine's container on a shared engine, or one of another pid namespace, stays.

import type { HostIdentity } from "../../records/process.ts";
import { readHost } from "../host.ts";
import { isSameProcess, processStartTime } from "../process-table.ts";
import { LABEL, OWNER_LABEL } from "./docker-arguments.ts";
import { clientEnv } from "./env-file.ts";
import type { CheckDeps } from "./place.ts";
import { runClient } from "./run-client.ts";

const TIMEOUT_MS = 60_000;

/** The label of this process's containers. */
export function ownerLabel(host: HostIdentity = readHost(), pid: number = process.pid): string {
  return [host.machineId, host.bootId, host.pidNamespace, pid, processStartTime(pid) ?? ""].join("|");
}

/**
 * Removes orphaned containers with what they held. Returns their names. An engine that is not there, or does not answer,
 * has none. Call it at a node's start.
 */
export async function reapContainers(deps: CheckDeps, engine: string): Promise<string[]> {
  const run = (args: string[]) =>
    runClient(deps.clock, {
      argv: [engine, ...args],
      env: clientEnv(deps.nodeEnv),
      timeoutMs: TIMEOUT_MS,
    }).catch(() => undefined);
  const format = `{{.Names}}\t{{.Label "${OWNER_LABEL}"}}`;
  const listed = await run(["ps", "--all", "--filter", `label=${LABEL}`, "--format", format]);
  if (listed?.exitCode !== 0) return [];
  const host = readHost();
  const orphans = listed.stdout
    .split("\n")
    .map((line) => line.split("\t"))
    .filter(([name, owner]) => name && owner && isOrphaned(owner, host))
    .map(([name = ""]) => name);
  const removed: string[] = [];
  for (const name of orphans)
    if ((await run(["rm", "--force", "--volumes", name]))?.exitCode === 0) removed.push(name);
  return removed;
}

function isOrphaned(owner: string, host: HostIdentity): boolean {
  const [machineId, bootId, pidNamespace, pid, startTime = ""] = owner.split("|");
  if (machineId !== host.machineId) return false;
  if (bootId !== host.bootId) return true;
  if (pidNamespace !== host.pidNamespace) return false;
  return !isSameProcess({ pid: Number(pid), startTime, processGroup: Number(pid) });
}
