// What a node's process holds in memory, told to its row for others (`metrics dump`).

import { messageOf } from "../kernel/errors.ts";
import { MINUTE, SECOND } from "../kernel/time.ts";
import type { NodeMemory } from "../records/node.ts";
import type { Context } from "./context.ts";
import { logRingOf } from "./log-ring.ts";
import { Repeating } from "./repeating.ts";

const MEASURE_MS = 30 * SECOND;
/** An idle node must not cost an fsync every half minute: without news it says nothing for so long. */
const TELL_MS = 10 * MINUTE;
/** Of the resident size: what changes by less is no news. */
const NOISE = 0.1;

export interface NodeMemoryDeps {
  context: Pick<Context, "clock" | "ledger" | "log">;
  nodeId: string;
  /** By name: live runs and whatever else is held. */
  counts(): Readonly<Record<string, number>>;
}

export function measureMemory({ context, counts }: Omit<NodeMemoryDeps, "nodeId">): NodeMemory {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const ring = logRingOf(context.log)?.size;
  return {
    at: context.clock.now(),
    ...{ rssBytes: rss, heapUsedBytes: heapUsed, heapTotalBytes: heapTotal, externalBytes: external },
    counts: { ...counts(), ...(ring && { logLines: ring.lines, logBytes: ring.bytes }) },
  };
}

export function memoryLoop(deps: NodeMemoryDeps): Repeating {
  const { context, nodeId } = deps;
  let told: NodeMemory | undefined;
  const work = async () => {
    const memory = measureMemory(deps);
    if (told && !isNews(memory, told)) return;
    try {
      await context.ledger.updateNode(nodeId, { memory });
      told = memory;
    } catch (error) {
      context.log.debug("memory-not-told", { error: messageOf(error) });
    }
  };
  return new Repeating({ ...context, what: "memory", everyMs: MEASURE_MS, work });
}

function isNews(now: NodeMemory, told: NodeMemory): boolean {
  if (now.at - told.at >= TELL_MS) return true;
  return Math.abs(now.rssBytes - told.rssBytes) > NOISE * told.rssBytes;
}
