// Nodes as people see them: which are up, and how sure anyone can be of it.

import { MINUTE, SECOND } from "../kernel/time.ts";
import type { NodeRecord } from "../records/node.ts";
import type { Context } from "./context.ts";
import { type NodeDocument, nodeDocument } from "./documents.ts";

/** A node of another host counts as up this long after it was last seen: three times the longest sleep. */
const SEEN_MS = 90 * SECOND;

/** Neither stopped nor lost. On our own host pid and start time decide; elsewhere, when it was last seen. */
export function isUp(node: NodeRecord, context: Pick<Context, "host" | "isAlive">, now: number): boolean {
  if (node.stoppedAt !== undefined) return false;
  if (node.hostId === context.host.hostId) return context.isAlive(node);
  return now - node.lastSeenAt <= SEEN_MS;
}

/** Whether it has places for whatever is queued; a process that does one run of its own (U2) has none. */
export function takesWork({ maxParallelRuns }: Pick<NodeRecord, "maxParallelRuns">): boolean {
  return maxParallelRuns > 0;
}

/** The nodes that are up now and take work. */
export async function nodesUp(context: Context): Promise<NodeRecord[]> {
  const now = await context.ledger.now();
  return (await context.ledger.nodes()).filter((node) => takesWork(node) && isUp(node, context, now));
}

/** `node list`: newest start first. */
export async function listNodes(context: Context): Promise<NodeDocument[]> {
  const now = await context.ledger.now();
  return (await context.ledger.nodes()).map((node) => nodeDocument(node, !isUp(node, context, now)));
}

/** Whether the last pass of a node that is up is worryingly old (hermes#60703: process alive, nothing fires). */
export function isStuck(node: NodeRecord, now: number): boolean {
  return now - (node.lastPassAt ?? node.startedAt) > 2 * MINUTE;
}
