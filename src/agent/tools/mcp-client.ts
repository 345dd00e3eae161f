// The tools of the MCP servers that the config names, for one run: opened at its start, closed at its end.
//
// I1. A server that cannot be reached is a problem told; the run goes on with the others' tools.
// I2. Whatever was opened is closed: also when opening is aborted or times out, no process is left.

import { linkAbort } from "../../kernel/abort.ts";
import { messageOf } from "../../kernel/errors.ts";
import { type Clock, formatDuration, MINUTE, SECOND } from "../../kernel/time.ts";
import type { McpServerConfig } from "../../records/models-config.ts";
import type { Tool } from "../../records/tool.ts";
import type { Transport } from "./mcp-sdk.ts";
import { makeStdioTransport, serverEnv } from "./mcp-stdio.ts";
import { makeMcpTool, mcpToolName, type RemoteTool } from "./mcp-tool.ts";

const DEFAULT_OPEN_MS = 15 * SECOND;
/** For telling a server that its session is over. */
const GOODBYE_MS = 2 * SECOND;
const MAX_TOOLS = 200;
const MAX_PAGES = 20;

export interface McpDeps {
  servers: Readonly<Record<string, McpServerConfig>>;
  /** Puts the values into `${env:NAME}` references of env, headers and URL. A throw is that server's problem. */
  resolve(text: string): string;
  /** The node's environment; a server's process sees an allow-list of it (S2). */
  env: Readonly<Record<string, string | undefined>>;
  /** Set for every server's process: the run's NIGHTSHIFT_* by which recovery finds what is left of it (L10). */
  marks?: Readonly<Record<string, string>> | undefined;
  /** Where servers' processes start: a folder of this machine. Default: the node's own. */
  cwd?: string | undefined;
  /** Ours, told to servers. */
  version: string;
  clock: Pick<Clock, "sleep">;
  signal: AbortSignal;
  /** To connect and to list the tools. Default 15,000. */
  openTimeoutMs?: number | undefined;
  /** For a process to end, after its stdin has ended and again after TERM. Default 2,000. */
  graceMs?: number | undefined;
}

export interface McpTools {
  tools: Tool[];
  /** A sentence for each server that cannot be used, or of which something was left out. */
  problems: string[];
  /** Ends sessions and processes. Idempotent; never rejects. */
  close(): Promise<void>;
}

type Sdk = typeof import("./mcp-sdk.ts");

/** One server's part of the answer. */
interface Opened {
  tools: Tool[];
  problems: string[];
  close(): Promise<void>;
}

/** Connects to all at once. Throws only the signal's reason. */
export async function openMcpTools(deps: McpDeps): Promise<McpTools> {
  const sdk = await import("./mcp-sdk.ts");
  const servers = Object.entries(deps.servers);
  const opened = await Promise.all(servers.map(([name, config]) => openServer(deps, sdk, { name, config })));
  let closing: Promise<unknown> | undefined;
  const close = async () => {
    closing ??= Promise.all(opened.map((server) => server.close()));
    await closing;
  };
  if (deps.signal.aborted) {
    await close();
    throw deps.signal.reason;
  }
  return {
    tools: opened.flatMap(({ tools }) => tools),
    problems: opened.flatMap(({ problems }) => problems),
    close,
  };
}

interface Named {
  name: string;
  config: McpServerConfig;
}

async function openServer(deps: McpDeps, sdk: Sdk, { name, config }: Named): Promise<Opened> {
  const client = new sdk.Client({ name: "nightshift", version: deps.version });
  client.onerror = () => {};
  const openMs = deps.openTimeoutMs ?? DEFAULT_OPEN_MS;
  const deadline = linkAbort(deps.signal);
  const timer = new AbortController();
  const timing = deps.clock.sleep(openMs, timer.signal).then(
    () => deadline.abort(new Error(`no answer within ${formatDuration(openMs)}`)),
    () => {},
  );
  let connection: Connection | undefined;
  try {
    connection = connect(deps, sdk, config);
    const options = { signal: deadline.signal, timeout: 10 * MINUTE };
    await client.connect(connection.transport, options);
    const remote = await listTools(sdk, client, options);
    return { ...toolsOf({ name, client, connection }, remote), close: closer(deps, client, connection) };
  } catch (error) {
    const isLate = deadline.signal.aborted;
    // Only once it is closed is it known how a process ended that did not want us.
    if (connection) await closer(deps, client, connection)();
    const gone = isLate ? undefined : connection?.whyGone();
    const why = gone ?? sayError(isLate ? deadline.signal.reason : error);
    return {
      tools: [],
      problems: [`The MCP server ${name} cannot be used: ${why}.`],
      close: async () => {},
    };
  } finally {
    timer.abort();
    deadline.release();
    await timing;
  }
}

/** What fetch throws says only that it failed; its cause says why. */
function sayError(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : "";
  return cause === "" ? messageOf(error) : `${messageOf(error)}: ${cause}`;
}

interface Connection {
  transport: Transport;
  /** How a server's process ended by itself, and what it said at last. */
  whyGone(): string | undefined;
  /** Tells the server that the session is over. */
  leave(): Promise<void>;
}

function connect(deps: McpDeps, sdk: Sdk, config: McpServerConfig): Connection {
  const resolved = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, deps.resolve(value)]));
  if ("url" in config) {
    const headers = resolved(config.headers);
    // The SDK follows redirects within the server's origin only: headers with keys go nowhere else.
    const transport = new sdk.StreamableHTTPClientTransport(new URL(deps.resolve(config.url)), {
      requestInit: { headers },
    });
    return {
      transport,
      whyGone: () => undefined,
      leave: () => transport.terminateSession(),
    };
  }
  const env = { ...serverEnv(deps.env, resolved(config.env)), ...deps.marks };
  const wire = { ReadBuffer: sdk.ReadBuffer, serializeMessage: sdk.serializeMessage };
  const server = { command: config.command, args: config.args, env, cwd: deps.cwd };
  const transport = makeStdioTransport(wire, server, deps);
  const whyGone = () => {
    const ending = transport.endedBy();
    const tail = transport.stderrTail();
    return ending === undefined ? undefined : tail === "" ? ending : `${ending}: ${tail}`;
  };
  return { transport, whyGone, leave: async () => {} };
}

type Client = InstanceType<Sdk["Client"]>;

/** Asked without the SDK's own checks: one schema that it cannot compile would cost all tools. */
async function listTools(
  sdk: Sdk,
  client: Client,
  options: { signal: AbortSignal; timeout: number },
): Promise<RemoteTool[]> {
  const tools: RemoteTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length <= MAX_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: "tools/list", params }, sdk.ListToolsResultSchema, options);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

function toolsOf(
  { name, client, connection }: { name: string; client: Client; connection: Connection },
  remote: readonly RemoteTool[],
): { tools: Tool[]; problems: string[] } {
  const server = {
    name,
    call: (request: { name: string; arguments: Record<string, unknown> }, limits: object) =>
      client.callTool(request, undefined, limits),
    gone: () => connection.whyGone(),
  };
  const problems: string[] = [];
  if (remote.length > MAX_TOOLS)
    problems.push(`The MCP server ${name} has more than ${MAX_TOOLS} tools; the others are left out.`);
  const known = new Map<string, RemoteTool>();
  for (const tool of remote.slice(0, MAX_TOOLS)) {
    const ours = mcpToolName(name, tool.name);
    if (known.has(ours))
      problems.push(`The MCP server ${name} has two tools called ${ours}; one is left out.`);
    else known.set(ours, tool);
  }
  return { tools: [...known.values()].map((tool) => makeMcpTool(server, tool)), problems };
}

/** Never rejects: a server that does not let go is left behind, and its process ended. */
function closer({ clock }: McpDeps, client: Client, { transport, leave }: Connection): () => Promise<void> {
  return async () => {
    const over = new AbortController();
    const patience = clock.sleep(GOODBYE_MS, over.signal).catch(() => {});
    await Promise.race([leave().catch(() => {}), patience]);
    over.abort();
    await patience;
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
  };
}
