// Containers that were left behind: found by label and removed, running or not (hermes#75467).
//
// I1. Only what is provably ours and provably orphaned (owner.ts). Another machine's container on a shared engine stays.
// I2. Those of a run go, whoever's they are, when the run has been taken over: its claim is ours alone (law 3).

import { readHost } from "../host.ts";
import { LABEL, OWNER_LABEL, RUN_LABEL } from "./docker-arguments.ts";
import { clientEnv } from "./env-file.ts";
import { isOrphaned, type Owner, ownerOf } from "./owner.ts";
import type { CheckDeps } from "./place.ts";
import { runClient } from "./run-client.ts";

const TIMEOUT_MS = 60_000;

/** The label of this process's containers. */
export function ownerLabel(): string {
  const { machineId, bootId, pidNamespace, pid, startTime } = ownerOf();
  return [machineId, bootId, pidNamespace, pid, startTime].join("|");
}

/**
 * Removes orphaned containers with what they held. Returns their names. An engine that is not there, or does not answer,
 * has none. Call it at a node's start.
 */
export async function reapContainers(deps: CheckDeps, engine: string): Promise<string[]> {
  const host = readHost();
  const orphans = await removeContainers(deps, engine, ({ owner }) => isOrphaned(parseLabel(owner), host));
  return orphans.map(({ name }) => name);
}

export interface RunContainer {
  runId: string;
  name: string;
}

/** Removes the containers of runs that were taken over (I2); answers which. An engine that does not answer has none. */
export async function removeContainersOf(
  deps: CheckDeps,
  engine: string,
  runIds: ReadonlySet<string>,
): Promise<RunContainer[]> {
  return removeContainers(deps, engine, ({ runId }) => runIds.has(runId));
}

interface Found extends RunContainer {
  owner: string;
}

async function removeContainers(
  deps: CheckDeps,
  engine: string,
  isWanted: (found: Found) => boolean,
): Promise<Found[]> {
  const run = (args: string[]) =>
    runClient(deps.clock, {
      argv: [engine, ...args],
      env: clientEnv(deps.nodeEnv),
      timeoutMs: TIMEOUT_MS,
    }).catch(() => undefined);
  const format = ["{{.Names}}", `{{.Label "${OWNER_LABEL}"}}`, `{{.Label "${RUN_LABEL}"}}`].join("\t");
  const listed = await run(["ps", "--all", "--filter", `label=${LABEL}`, "--format", format]);
  if (listed?.exitCode !== 0) return [];
  const wanted = listed.stdout
    .split("\n")
    .map((line) => line.split("\t"))
    .map(([name = "", owner = "", runId = ""]) => ({ name, owner, runId }))
    .filter((found) => found.name !== "" && found.owner !== "" && isWanted(found));
  const removed: Found[] = [];
  for (const one of wanted)
    if ((await run(["rm", "--force", "--volumes", one.name]))?.exitCode === 0) {
      // One of its own has its name; what a scope keeps has another.
      await run(["volume", "rm", "--force", one.name]);
      removed.push(one);
    }
  return removed;
}

function parseLabel(label: string): Owner {
  const [machineId = "", bootId = "", pidNamespace = "", pid, startTime = ""] = label.split("|");
  return { machineId, bootId, pidNamespace, pid: Number(pid), startTime };
}
