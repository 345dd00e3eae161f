// `/mcp` of a node: the official client over streamable HTTP, and what is kept out.

import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { say, startModelServer } from "../support/model-server.ts";
import { type HttpNode, httpClient, httpNode, type McpCaller, mcpHome, processesWith } from "./clients.ts";

const nightly = { action: "create", schedule: "every day at 3am", name: "Nightly", prompt: "Look." };

describe("a node's /mcp", () => {
  test("schedules, says where results go, and promises nothing that nobody would do", async () => {
    const node = await httpNode(await mcpHome());
    const { call, client } = await httpClient(node);
    expect((await client.listTools()).tools).toHaveLength(5);
    const { result } = await call("cronjob", nightly, { origin: { platform: "local" } });
    expect(result).toMatchObject({ error: null, created: "nightly", deliverTo: ["origin"], warnings: [] });
    expect(await node.home.json("job", "show", "nightly")).toMatchObject({ origin: { platform: "local" } });
  });

  test("an agent is queued for the node, which does it; two clients at once each get their own answer", async () => {
    const server = await startModelServer((asked) =>
      say(JSON.stringify(asked.body).includes("apples") ? "A" : "B"),
    );
    const node = await httpNode(await mcpHome({ baseUrl: server.baseUrl }));
    const [a, b] = await Promise.all([httpClient(node), httpClient(node)]);
    const ask = (client: McpCaller, prompt: string) =>
      client.call("agent", { prompt, toolsets: [], waitSeconds: 60 });
    const answers = await Promise.all([ask(a, "apples"), ask(b, "bananas")]);
    expect(answers.map(({ result }) => result)).toMatchObject([
      { error: null, hasEnded: true, output: "A" },
      { error: null, hasEnded: true, output: "B" },
    ]);
    expect((await a.call("runs", { action: "list", state: "succeeded" })).result.runs).toHaveLength(2);
  });

  test("a session's processes are its own and end with it; what is left of it is refused", async () => {
    const node = await httpNode(await mcpHome());
    const [a, b] = [await httpClient(node), await httpClient(node)];
    const mark = await startSleeper(a);
    expect((await b.call("process", { action: "list" })).result).toEqual({ error: null, processes: [] });

    await a.endSession();

    await noneLeft(mark);
    await expect(a.call("runs", { action: "list" })).rejects.toThrow(/not initialized/);
    expect((await b.call("runs", { action: "list" })).result).toEqual({ error: null, runs: [] });
  });

  test("L13: a node that stops ends the sessions and what they started, and does not wait for their streams", async () => {
    const node = await httpNode(await mcpHome());
    const mark = await startSleeper(await httpClient(node));
    node.running.child.kill("SIGTERM");
    const { exitCode } = await node.running.ended;
    expect(exitCode).toBe(0);
    expect(processesWith(mark)).toEqual([]);
  });
});

describe("S5: nobody is served", () => {
  const foreign: [string, Record<string, string>, number][] = [
    ["without a token", { authorization: "" }, 401],
    ["with a wrong token", { authorization: "Bearer nonsense" }, 401],
    ["under another host's name", { host: "evil.example:80" }, 403],
    ["for a page of another origin", { origin: "https://evil.example" }, 403],
  ];

  test.each(foreign)("%s", async (_who, headers, status) => {
    const node = await httpNode(await mcpHome());
    expect(await post(node, headers, INITIALIZE)).toMatchObject({ status });
  });

  test("S1: inside of a run, unless a person allowed it; then the run is known", async () => {
    const closed = await httpNode(await mcpHome());
    const marked = { "x-nightshift-run-id": "run-1" };
    const refused = await post(closed, marked, INITIALIZE);
    expect(refused.status).toBe(403);
    expect(refused.body).toContain("allowRunsToSchedule");
    const opened = await httpNode(await mcpHome({ config: "http: {allowRunsToSchedule: true}\n" }));
    const { call } = await httpClient(opened, marked);
    expect((await call("cronjob", nightly)).result).toMatchObject({ created: "nightly" });
  });
});

describe("what is no session is answered, not obeyed", () => {
  test.each([
    ["a call before initialize", {}, callText(), 400],
    ["a session that never was", { "mcp-session-id": "nonsense" }, callText(), 404],
    ["a body that is no JSON", {}, "{", 400],
    ["a type of body that is not spoken", { "content-type": "text/plain" }, initializeText(), 415],
  ] as const)("%s", async (_what, headers, body, status) => {
    const node = await httpNode(await mcpHome());
    expect(await post(node, headers, body)).toMatchObject({ status });
    const { call } = await httpClient(node);
    expect((await call("runs", { action: "list" })).result.error).toBeNull();
  });
});

const INITIALIZE = initializeText();

function initializeText(): string {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
}

function callText(): string {
  const params = { name: "runs", arguments: { action: "list" } };
  return JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
}

/** A request as no browser or SDK would send it: any Host, any header; an empty one is left out. */
function post(
  { url, token }: HttpNode,
  headers: Record<string, string>,
  body: string,
): Promise<{ status: number; body: string }> {
  const given = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers,
  };
  const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/mcp`, { method: "POST", headers: sent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function startSleeper({ call }: McpCaller): Promise<string> {
  const mark = `sleep 30${process.hrtime.bigint() % 1_000_000_000n}`;
  const { result } = await call("process", { action: "start", command: mark });
  expect(result.error).toBeNull();
  const signal = AbortSignal.timeout(10_000);
  while (processesWith(mark).length === 0) signal.throwIfAborted();
  return mark;
}

/** A session that was asked to end does so beside the answer. */
async function noneLeft(mark: string): Promise<void> {
  const signal = AbortSignal.timeout(10_000);
  while (processesWith(mark).length > 0) signal.throwIfAborted();
}
