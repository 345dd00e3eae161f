// A session of somebody else's agent (MCP): the tools it is given, and what is its own while it lives.

import { makeProcessTool } from "../../agent/tools/process.ts";
import { readOrigin } from "../../deliver/origin.ts";
import { isFault, sayFault } from "../../kernel/errors.ts";
import { makeId } from "../../kernel/ids.ts";
import type { Origin } from "../../records/delivery.ts";
import type { Tool } from "../../records/tool.ts";
import type { Context } from "../context.ts";
import { makeAgentTool, OwnRuns } from "./agent.ts";
import { makeCronjobTool } from "./cronjob.ts";
import { makeRunsTool } from "./runs.ts";
import { makeSessionPlace } from "./session-place.ts";
import { makeWorkflowTool } from "./workflow.ts";

export interface SessionOptions {
  context: Context;
  /** Where its background commands begin; undefined = a folder of its own. */
  cwd: string | undefined;
  /** The run that calls, where the config allows runs to schedule (S1). */
  caller: { runId: string; jobId: string | undefined } | undefined;
  /** Whether this process is a node: then it needs not run anything itself. */
  isNode: boolean;
}

export interface CallOrigin {
  origin: Origin | undefined;
  /** Why the one that was named cannot be used. */
  problem: string | undefined;
}

export interface Session {
  id: string;
  tools(origin: Origin | undefined): readonly Tool[];
  /** O4: the environment's origin, else the call's own word. Never throws. */
  originOf(call: unknown): CallOrigin;
  /** Ends what it started. Idempotent. */
  close(): Promise<void>;
}

export function openSession(options: SessionOptions): Session {
  const { cwd, caller, isNode } = options;
  const id = makeId(options.context.clock.now(), options.context.random);
  const context: Context = { ...options.context, actor: `mcp:${id}` };
  const place = makeSessionPlace({ context, sessionId: id, cwd });
  const own = new OwnRuns(context);
  return {
    id,
    tools: (origin) => [
      makeCronjobTool({ context, origin, caller }),
      makeProcessTool(place.processes),
      makeRunsTool(context),
      makeWorkflowTool(context),
      makeAgentTool({ context, origin, here: isNode ? undefined : own }),
    ],
    originOf: (call) => originOf(context, { call, usesEnvironment: !isNode }),
    async close() {
      await own.close();
      const { survivors } = await place.close();
      if (survivors > 0) context.log.warn("processes-outlived-session", { session: id, survivors });
    },
  };
}

/** A node's environment says nothing about who calls it. */
function originOf(
  { env, platforms }: Context,
  { call, usesEnvironment }: { call: unknown; usesEnvironment: boolean },
): CallOrigin {
  const environment = {
    platform: env.NIGHTSHIFT_ORIGIN_PLATFORM,
    chat: env.NIGHTSHIFT_ORIGIN_CHAT,
    thread: env.NIGHTSHIFT_ORIGIN_THREAD,
  };
  try {
    const origin = readOrigin(
      { ...(usesEnvironment && { environment }), call: readCallOrigin(call) },
      platforms,
    );
    return { origin, problem: undefined };
  } catch (error) {
    if (!isFault(error)) throw error;
    return { origin: undefined, problem: `The origin of this call cannot be used: ${sayFault(error)}` };
  }
}

/** `{platform, chat?, thread?}`; ids may be numbers, as chat programs send them. */
function readCallOrigin(value: unknown): Origin | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const text = (key: string): string | undefined => {
    const part: unknown = Reflect.get(value, key);
    if (typeof part === "number" && Number.isSafeInteger(part)) return String(part);
    return typeof part === "string" && part !== "" ? part : undefined;
  };
  const [platform, chat, thread] = [text("platform"), text("chat"), text("thread")];
  if (platform === undefined) return undefined;
  return { platform, ...(chat !== undefined && { chat }), ...(thread !== undefined && { thread }) };
}
