// What a node does again and again beside firing and running.

import { SECOND } from "../kernel/time.ts";
import type { OutputFiles } from "../store/files/output-files.ts";
import { tendingLoop } from "./background/tend.ts";
import { TelegramListener, telegramListening } from "./chat/listen-telegram.ts";
import type { Context } from "./context.ts";
import { Housekeeping } from "./housekeeping.ts";
import { incidentNewsLoop } from "./incidents.ts";
import { memoryLoop } from "./node-memory.ts";
import { Repeating } from "./repeating.ts";
import { TriggerLoop } from "./triggers/trigger-loop.ts";

const RECOVERY_MS = 5 * SECOND;

/** `start` and `stop` are idempotent; `stop` resolves when a turn under way has ended. */
export type NodeLoop = Pick<Repeating, "start" | "stop">;

/** A line here is a loop of every node. */
export function nodeLoops(
  context: Context,
  node: {
    nodeId: string;
    files: OutputFiles;
    leaseMs: number;
    runner: { readonly size: number; readonly taskCount: number };
    recover(): Promise<void>;
  },
): readonly NodeLoop[] {
  const recovery = new Repeating({
    ...context,
    what: "recovery",
    // A lease that is shorter than the interval would otherwise be looked at late.
    everyMs: Math.min(RECOVERY_MS, node.leaseMs),
    work: node.recover,
  });
  const { nodeId, runner } = node;
  const counts = () => ({ liveRuns: runner.size, liveTasks: runner.taskCount });
  const listening = telegramListening(context);
  return [
    recovery,
    new Housekeeping(context, node.files),
    tendingLoop(context),
    incidentNewsLoop(context),
    new TriggerLoop(context, nodeId),
    memoryLoop({ context, nodeId, counts }),
    ...(listening ? [new TelegramListener(context, listening)] : []),
  ];
}
