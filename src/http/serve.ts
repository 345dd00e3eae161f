// The HTTP surface: binds, guards, and hands requests to the routes.

import type { Context } from "../app/context.ts";

export interface ServeOptions {
  context: Context;
  nodeId: string;
  /** 0 = any free one. */
  port: number;
  /** Whether this very port was asked for; else a free one is taken when it is busy (S5). */
  isPortFixed: boolean;
  bind: string;
  /** Beyond loopback without TLS (S5). */
  isInsecureAllowed: boolean;
}

export interface HttpServer {
  url: string;
  /** Idempotent; open event streams are ended. */
  stop(): Promise<void>;
}

/** Throws `input.refused` for a bind beyond loopback without `isInsecureAllowed`, `environment.broken` for a busy fixed port. */
export async function serveHttp(options: ServeOptions): Promise<HttpServer> {
  throw new Error(`not served yet on ${options.bind}`);
}
