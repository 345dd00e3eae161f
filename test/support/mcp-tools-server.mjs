// An MCP server for tests: real SDK, tools that do what a test is about. Over stdio when run as a program; `makeServer`
// gives the same over any transport.

import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const text = (value) => ({ content: [{ type: "text", text: value }] });
const object = (properties = {}, required = []) => ({ type: "object", properties, required });

const TOOLS = {
  echo: {
    listing: {
      description: "Says it again.",
      inputSchema: object({ text: { type: "string" } }, ["text"]),
      annotations: { readOnlyHint: true },
    },
    call: ({ text: value }) => text(value),
  },
  fail: {
    listing: { description: "Fails.", inputSchema: object() },
    call: () => ({ ...text("the disk is full"), isError: true }),
  },
  structured: {
    listing: { inputSchema: object(), outputSchema: object({ ok: { type: "boolean" } }) },
    call: () => ({ content: [], structuredContent: { ok: true } }),
  },
  picture: {
    listing: { inputSchema: object() },
    call: () => ({
      content: [
        { type: "image", mimeType: "image/png", data: "A".repeat(4_000) },
        { type: "resource", resource: { uri: "file:///a.txt", text: "in a file" } },
      ],
    }),
  },
  big: { listing: { inputSchema: object() }, call: () => text(`head\n${"x".repeat(200_000)}\ntail`) },
  env: { listing: { inputSchema: object() }, call: () => text(JSON.stringify(process.env)) },
  die: { listing: { inputSchema: object() }, call: () => process.exit(7) },
  "dotted.name": { listing: { inputSchema: object() }, call: () => text("dotted") },
  family: {
    listing: { description: "Starts a process that ignores TERM; returns its pid.", inputSchema: object() },
    call: () => {
      const child = spawn("/bin/sh", ["-c", "trap '' TERM; while :; do sleep 1; done"], { stdio: "inherit" });
      return text(String(child.pid));
    },
  },
  slow: {
    listing: { inputSchema: object() },
    call: async (_args, { sendNotification, signal, progressToken }) => {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return text("never");
    },
  },
};

export function makeServer() {
  const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: {} } });
  const names = Object.keys(TOOLS);
  // Two pages, so that a client that reads one only is found out.
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    const half = 5;
    const page = params?.cursor === "more" ? names.slice(half) : names.slice(0, half);
    const tools = page.map((name) => ({ name, ...TOOLS[name].listing }));
    return params?.cursor === "more" ? { tools } : { tools, nextCursor: "more" };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) =>
    TOOLS[params.name].call(params.arguments ?? {}, { ...extra, progressToken: params._meta?.progressToken }),
  );
  return server;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stderr.write("test server is up\n");
  await makeServer().connect(new StdioServerTransport());
}
