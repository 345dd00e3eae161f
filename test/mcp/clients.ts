// The official MCP client, over both transports, on the built CLI and a real node.

import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { onTestFinished } from "vitest";
import { type CliHome, cliHome, type Running } from "../cli/run-cli.ts";
import { tempFolder } from "../support/temp.ts";

const BIN = join(import.meta.dirname, "../../bin/nightshift.js");
const NODE = process.env.NIGHTSHIFT_TEST_NODE ?? process.execPath;

export interface Answer {
  isError: boolean;
  /** The structured result; the text says the same. */
  result: Record<string, unknown> & { error: string | null };
  text: string;
}

export interface McpCaller {
  client: Client;
  /** Of the server, over stdio. */
  pid: number | undefined;
  call(tool: string, args: Record<string, unknown>, meta?: Record<string, unknown>): Promise<Answer>;
  /** Ends the session; resolves when the server is gone, or has said so. */
  close(): Promise<void>;
}

/** A home whose agents ask the model at `baseUrl`; `config` is added to config.yaml. */
export async function mcpHome(options: { baseUrl?: string; config?: string } = {}): Promise<CliHome> {
  const { baseUrl = "http://127.0.0.1:9/v1", config = "" } = options;
  const home = await cliHome();
  await writeFile(
    join(home.path, "config.yaml"),
    `models: {named: {main: {provider: openai-compatible, id: scripted, baseUrl: "${baseUrl}"}}}\n${config}`,
    { mode: 0o600 },
  );
  return home;
}

/** `nightshift mcp`, started by the client as an editor does it. */
export async function stdioClient(home: CliHome, env: Record<string, string> = {}): Promise<McpCaller> {
  const cwd = await tempFolder();
  const transport = new StdioClientTransport({
    command: NODE,
    args: [BIN, "mcp"],
    env: { PATH: process.env.PATH ?? "", HOME: cwd, TZ: "UTC", NIGHTSHIFT_HOME: home.path, ...env },
    cwd,
    stderr: "ignore",
  });
  return connect(transport, () => transport.pid ?? undefined);
}

/** `/mcp` of a node. */
export async function httpClient(
  node: HttpNode,
  headers: Record<string, string> = {},
): Promise<McpCaller & { endSession(): Promise<void> }> {
  const transport = new StreamableHTTPClientTransport(new URL(`${node.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${node.token}`, ...headers } },
  });
  const caller = await connect(transport, () => undefined);
  return { ...caller, endSession: () => transport.terminateSession() };
}

async function connect(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
  pid: () => number | undefined,
): Promise<McpCaller> {
  const client = new Client({ name: "test", version: "1" });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= client.close();
    return closing;
  };
  onTestFinished(close);
  // The SDK's own classes disagree on an optional property under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  return { client, pid: pid(), call: (...args) => callOf(client, args), close };
}

async function callOf(client: Client, [name, args, meta]: Parameters<McpCaller["call"]>): Promise<Answer> {
  const answer = await client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) });
  const [part] = answer.content as { type: string; text: string }[];
  return {
    isError: answer.isError === true,
    result: answer.structuredContent as Answer["result"],
    text: part?.text ?? "",
  };
}

export interface HttpNode {
  url: string;
  token: string;
  running: Running;
  home: CliHome;
}

/** `up` on any free port. */
export async function httpNode(home: CliHome): Promise<HttpNode> {
  const running = home.start(["up", "--port", "0", "--json", "--grace", "1s"]);
  const [, url = ""] = await running.said(/"url":"([^"]+)"/);
  const token = (await readFile(join(home.path, "token"), "utf8")).trim();
  return { url, token, running, home };
}

/** The processes of this machine whose command line holds `words`, without those that only wait to be collected. */
export function processesWith(words: string): number[] {
  const { stdout } = spawnSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" });
  return stdout
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match?.[3]?.includes(words) && !match[2]?.startsWith("Z"))
    .map((match) => Number(match?.[1]));
}
