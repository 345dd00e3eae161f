// A tool of an MCP server as one of ours: `server__tool`, granted by the server's name.

import { keepHead } from "../../kernel/bound-text.ts";
import { messageOf } from "../../kernel/errors.ts";
import { HOUR, MINUTE } from "../../kernel/time.ts";
import type { Preparation, Tool, ToolContext, ToolResult } from "../../records/tool.ts";
import { type McpAnswer, mcpResult } from "./mcp-result.ts";

/** Without any progress told; a server that tells of some may take the longer time. */
const QUIET_MS = 5 * MINUTE;
const LONGEST_MS = HOUR;
/** @source the narrowest of the providers' rules for a tool's name. */
const MAX_NAME = 64;
const MAX_DESCRIPTION = 4_000;

/** A tool as a server lists it. */
export interface RemoteTool {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

export interface CallLimits {
  signal: AbortSignal;
  timeout: number;
  maxTotalTimeout: number;
  resetTimeoutOnProgress: true;
  onprogress(): void;
}

/** A connected server, as far as its tools need it. */
export interface McpServer {
  name: string;
  call(request: { name: string; arguments: Record<string, unknown> }, limits: CallLimits): Promise<McpAnswer>;
  /** Why it cannot answer any more; undefined while it can. */
  gone(): string | undefined;
}

/** The name under which a model calls it. */
export function mcpToolName(server: string, tool: string): string {
  return `${server}__${tool}`.replace(/[^\w-]/g, "_").slice(0, MAX_NAME);
}

export function makeMcpTool(server: McpServer, remote: RemoteTool): Tool {
  const { name, title, description = title ?? name, inputSchema, annotations } = remote;
  return {
    name: mcpToolName(server.name, name),
    toolset: server.name,
    description: `${keepHead(description, MAX_DESCRIPTION).text.trim()}\n(A tool of the MCP server ${server.name}.)`,
    parameters: { properties: {}, ...inputSchema, type: "object" },
    isParallelSafe: annotations?.readOnlyHint === true,
    prepare: (value) => prepare(server, remote, value),
  };
}

/** The server checks the arguments against its schema; what is no object, or lacks a key, need not be sent. */
function prepare(server: McpServer, { name, inputSchema }: RemoteTool, value: unknown): Preparation {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { ok: false, error: `The arguments of ${name} must be a JSON object.` };
  const args: Record<string, unknown> = { ...value };
  const required = Array.isArray(inputSchema.required) ? inputSchema.required.map(String) : [];
  const missing = required.filter((key) => args[key] === undefined);
  if (missing.length > 0)
    return { ok: false, error: `The arguments of ${name} do not fit: ${missing.join(", ")} missing.` };
  const first = Object.values(args).find((item) => typeof item === "string") ?? "";
  return {
    ok: true,
    call: {
      summary: `${name} ${String(first).replace(/\s+/g, " ")}`.trim().slice(0, 80),
      run: (context) => callTool(server, { name, arguments: args }, context),
    },
  };
}

/** Whatever goes wrong with one server's tool is a sentence: it is no reason to end a run. */
async function callTool(
  server: McpServer,
  request: { name: string; arguments: Record<string, unknown> },
  { signal, touch }: ToolContext,
): Promise<ToolResult> {
  const limits: CallLimits = {
    signal,
    timeout: QUIET_MS,
    maxTotalTimeout: LONGEST_MS,
    resetTimeoutOnProgress: true,
    onprogress: () => touch(`progress of ${server.name}`),
  };
  try {
    return mcpResult(server.name, await server.call(request, limits));
  } catch (error) {
    if (signal.aborted) return { error: "The call was ended because the run is ending." };
    const gone = server.gone();
    if (gone !== undefined) return { error: `The MCP server ${server.name} is gone: ${gone}` };
    return { error: `The MCP server ${server.name} refused the call: ${messageOf(error)}` };
  }
}
