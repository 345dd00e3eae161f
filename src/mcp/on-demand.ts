// `/mcp` that costs a node nothing until a client comes.

import type { Context } from "../app/context.ts";
import type { Caller, McpHttp } from "./serve-http.ts";

/** Loads the server, and the SDK with it, at the first request. */
export function mcpOnDemand(context: Context): McpHttp {
  let made: Promise<McpHttp> | undefined;
  const load = (): Promise<McpHttp> => {
    made ??= import("./serve-http.ts").then(({ makeMcpHttp }) => makeMcpHttp(context));
    return made;
  };
  return {
    handle: async (request: Request, caller: Caller) => (await load()).handle(request, caller),
    close: async () => (await made)?.close(),
  };
}
