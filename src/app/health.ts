// `/healthz`: whether this node does its work, for whoever restarts it. Says nothing about jobs.

import { formatInstant } from "../kernel/time.ts";
import type { Context } from "./context.ts";
import { isStuck } from "./nodes.ts";

export interface HealthDocument {
  /** `stuck` = alive, but its last pass is more than two minutes old (hermes#60703). */
  status: "ok" | "stuck" | "stopping" | "storeUnavailable";
  nodeId: string;
  version: string;
  startedAt: string | null;
  lastPassAt: string | null;
  liveRuns: number | null;
}

/** Never throws: a ledger that cannot be read is an answer. */
export async function readHealth(context: Context, nodeId: string): Promise<HealthDocument> {
  const { version } = context;
  try {
    const [now, nodes] = await Promise.all([context.ledger.now(), context.ledger.nodes()]);
    const node = nodes.find(({ id }) => id === nodeId);
    if (!node) return { ...nothingKnown, status: "stopping", nodeId, version };
    const isEnding = node.stoppingAt !== undefined || node.stoppedAt !== undefined;
    return {
      status: isEnding ? "stopping" : isStuck(node, now) ? "stuck" : "ok",
      nodeId,
      version,
      startedAt: formatInstant(node.startedAt),
      lastPassAt: node.lastPassAt === undefined ? null : formatInstant(node.lastPassAt),
      liveRuns: node.liveRuns,
    };
  } catch {
    return { ...nothingKnown, status: "storeUnavailable", nodeId, version };
  }
}

const nothingKnown = { startedAt: null, lastPassAt: null, liveRuns: null };
