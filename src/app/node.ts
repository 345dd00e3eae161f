// Starting a node that fires until it is stopped, or one that does one thing and is over.

import { SECOND } from "../kernel/time.ts";
import { LiveNode } from "./live-node.ts";
import type { NightshiftNode, NodeOptions, TickResult } from "./node-options.ts";

export { BEAT_MS, LEASE_MS } from "./live-node.ts";

/** Starts a node that fires until it is stopped. */
export async function startNode(options: NodeOptions): Promise<NightshiftNode> {
  const node = new LiveNode(options);
  await node.start();
  return node;
}

/** Everything that is due now, its runs, their deliveries; then it is over (`tick`). */
export function tickOnce(options: NodeOptions): Promise<TickResult> {
  return once(options, (node) => node.tick());
}

/**
 * One queued run, here, and its deliveries (`job run --here`). False = another node was first, or `signal` aborted before.
 * Once it runs, `signal` cancels it; resolves when it has ended.
 */
export function runHere(options: NodeOptions, run: { id: string; signal: AbortSignal }): Promise<boolean> {
  return once(options, (node) => node.runOnly(run.id, run.signal), { isForOthers: false });
}

async function once<T>(
  options: NodeOptions,
  work: (node: LiveNode) => Promise<T>,
  { isForOthers = true } = {},
): Promise<T> {
  const node = new LiveNode(options);
  await node.register({ isForOthers });
  try {
    return await work(node);
  } finally {
    await node.stop({ graceMs: 30 * SECOND });
  }
}
