// The MCP server of one session: lists the session's tools, calls them, tells progress. Knows no transport.

import type { Session } from "../app/agent-tools/session.ts";
import type { Context } from "../app/context.ts";
import { SECOND } from "../kernel/time.ts";
import type { Tool } from "../records/tool.ts";
import { callTool, type ToolCallResult } from "./call-tool.ts";
import type * as sdk from "./sdk.ts";

type Sdk = typeof sdk;

/** A client that counts time since the last sign of life hears one this often. */
const PROGRESS_MS = 5 * SECOND;

const INSTRUCTIONS = `Nightshift runs work that nobody is watching. cronjob schedules it and manages what is scheduled; agent starts an agent now; runs shows what happened and why; workflow runs graphs of tasks; process keeps commands going beside this session.`;

export interface McpServer {
  server: sdk.Server;
  /** Resolves when no call is under way. */
  whenIdle(): Promise<void>;
}

export function makeServer({ Server, ...rest }: Sdk, session: Session, context: Context): McpServer {
  const server = new Server(
    { name: "nightshift", title: "Nightshift", version: context.version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  const live = new Set<Promise<ToolCallResult>>();
  server.setRequestHandler(rest.ListToolsRequestSchema, () => ({
    tools: session.tools(undefined).map(describeTool),
  }));
  server.setRequestHandler(rest.CallToolRequestSchema, async ({ params }, extra) => {
    const { origin, problem } = session.originOf(params._meta?.origin);
    const tools = session.tools(origin);
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) throw unknownTool(rest, params.name, tools);
    const token = params._meta?.progressToken;
    const tell = (progress: number, message: string) =>
      void extra
        .sendNotification({
          method: "notifications/progress",
          params: { progressToken: token ?? 0, progress, message },
        })
        // A client that is gone hears nothing.
        .catch(() => {});
    const result = callTool(context, {
      tool,
      args: params.arguments,
      notes: problem === undefined ? [] : [problem],
      context: {
        callId: String(extra.requestId),
        runId: session.id,
        signal: extra.signal,
        touch: token === undefined ? () => {} : makeTouch(context, tell),
      },
    });
    live.add(result);
    try {
      return await result;
    } finally {
      live.delete(result);
    }
  });
  return {
    server,
    async whenIdle() {
      while (live.size > 0) await Promise.all(live);
    },
  };
}

function describeTool({ name, description, parameters }: Tool) {
  return { name, description, inputSchema: { ...parameters, type: "object" as const } };
}

function makeTouch(
  { clock }: Context,
  tell: (progress: number, message: string) => void,
): (activity: string) => void {
  let count = 0;
  let toldAtMs = clock.monotonicMs();
  return (activity) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - toldAtMs < PROGRESS_MS) return;
    toldAtMs = nowMs;
    count += 1;
    tell(count, activity);
  };
}

function unknownTool(
  { McpError, ErrorCode }: Omit<Sdk, "Server">,
  name: string,
  tools: readonly Tool[],
): Error {
  const known = tools.map((tool) => tool.name).join(", ");
  return new McpError(ErrorCode.InvalidParams, `There is no tool "${name}". Use one of: ${known}.`);
}
