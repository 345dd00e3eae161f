// The MCP SDK's one door: reached by `await import("./mcp-sdk.ts")` only, when a run uses an MCP server. The build makes a
// file of its own from it, so that nothing else pays for it (scripts/build.mjs).

export { Client } from "@modelcontextprotocol/sdk/client/index.js";
export { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
export { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
export type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
export { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
