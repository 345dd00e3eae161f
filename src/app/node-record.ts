// How a node introduces itself to the ledger.

import { hostname } from "node:os";
import { processStartTime } from "../execute/host.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Context } from "./context.ts";

/** This process as a node that has just started. */
export async function nodeRecord(
  context: Pick<Context, "ledger" | "host" | "version" | "clock">,
  node: { id: string; maxParallelRuns: number },
): Promise<NodeRecord> {
  const { ledger, host, version, clock } = context;
  const now = await ledger.now();
  return {
    ...node,
    name: `${hostname()}:${process.pid}`,
    hostId: host.hostId,
    bootId: host.bootId,
    pid: process.pid,
    startTime: processStartTime(process.pid) ?? "",
    version,
    startedAt: now,
    lastSeenAt: now,
    lastPassAt: undefined,
    clockOffsetMs: clock.now() - now,
    stoppingAt: undefined,
    stoppedAt: undefined,
    liveRuns: 0,
    url: undefined,
    lastError: undefined,
  };
}
