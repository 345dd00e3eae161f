// The HTTP surface's lifetime: binds, serves, and ends with nothing left open.
//
// I1. Loopback unless somebody took the risk by name (S5).
// I2. `stop` ends event streams first, lets running requests end, and closes what is still open after a short while.

import type { Server } from "node:http";
import { hostname } from "node:os";
import { createAdaptorServer } from "@hono/node-server";
import type { Context } from "../app/context.ts";
import { Fault, messageOf } from "../kernel/errors.ts";
import { SECOND } from "../kernel/time.ts";
import { buildApi, type McpDoor } from "./api.ts";
import { hostText, isLoopback, isWildcard } from "./guards.ts";

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
  /** Answers `/mcp`; absent = there is no such path. */
  mcp?: McpDoor;
}

export interface HttpServer {
  url: string;
  /** Idempotent; open event streams are ended. */
  stop(): Promise<void>;
}

/** Requests under way get this long to end. */
const GRACE_MS = 2 * SECOND;
/** A peer that sends its request slower than this is hung up on. */
const HEADERS_MS = 10 * SECOND;
const REQUEST_MS = 30 * SECOND;

/** Throws `input.refused` for a bind beyond loopback without `isInsecureAllowed`, `environment.broken` for a busy fixed port. */
export async function serveHttp(options: ServeOptions): Promise<HttpServer> {
  const { context, bind } = options;
  if (!isLoopback(bind) && !options.isInsecureAllowed) throw beyondLoopback(bind);
  const stopping = new AbortController();
  const open = new Open();
  const api = buildApi({
    context,
    nodeId: options.nodeId,
    own: () => ({ bind, port: portOf(server), hostname: hostname() }),
    signal: stopping.signal,
    track: () => open.add(),
    ...(options.mcp && { mcp: options.mcp }),
  });
  const server = createAdaptorServer({
    fetch: async (request: Request) => {
      const done = open.add();
      try {
        return await api.fetch(request);
      } finally {
        done();
      }
    },
    overrideGlobalObjects: false,
    serverOptions: { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
  }) as Server;
  await listenSomewhere(server, options);
  server.on("error", (error) => context.log.warn("http-server-failed", { error: messageOf(error) }));
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${isWildcard(bind) ? hostname() : hostText(bind)}:${portOf(server)}`,
    stop: () => {
      stopped ??= stop({ server, open, stopping, context });
      return stopped;
    },
  };
}

/** What is under way: requests and streams. */
class Open {
  readonly #all = new Set<object>();
  #onIdle = () => {};

  /** Returns the end of what begins now; idempotent. */
  add(): () => void {
    const one = {};
    this.#all.add(one);
    return () => {
      this.#all.delete(one);
      if (this.#all.size === 0) this.#onIdle();
    };
  }

  whenIdle(): Promise<void> {
    if (this.#all.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }
}

async function stop({
  server,
  open,
  stopping,
  context,
}: {
  server: Server;
  open: Open;
  stopping: AbortController;
  context: Context;
}): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  stopping.abort(new Error("the server stops"));
  const patience = new AbortController();
  const longEnough = context.clock.sleep(GRACE_MS, patience.signal).catch(() => {});
  try {
    await Promise.race([open.whenIdle(), longEnough]);
    // What was answered is still on its way through the socket for a turn or two.
    const sweep = setInterval(() => server.closeIdleConnections(), 10);
    await Promise.race([closed, longEnough]).finally(() => clearInterval(sweep));
  } finally {
    patience.abort(new Error("stopped"));
    server.closeAllConnections();
  }
  await closed;
}

async function listenSomewhere(server: Server, options: ServeOptions): Promise<void> {
  const { port, bind, isPortFixed } = options;
  try {
    await listen(server, port, bind);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE" && !isPortFixed && port !== 0)
      return listenSomewhere(server, { ...options, port: 0 });
    throw cannotListen(error, options);
  }
}

function listen(server: Server, port: number, bind: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error);
    server.once("error", failed);
    server.listen(port, bind, () => {
      server.removeListener("error", failed);
      resolve();
    });
  });
}

function cannotListen(error: unknown, { port, bind }: ServeOptions): Fault {
  const isBusy = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
  const what = isBusy
    ? `Port ${port} on ${bind} is taken.`
    : `${bind}:${port} cannot be bound: ${messageOf(error)}.`;
  return new Fault("environment.broken", what, {
    hint: "Name another --port (0 = any free one), or end what uses it.",
    cause: error,
  });
}

function beyondLoopback(bind: string): Fault {
  return new Fault("input.refused", `${bind} is reachable from other machines, and this server has no TLS.`, {
    hint: "Keep 127.0.0.1 behind a TLS proxy or an SSH tunnel, or add --insecure on a network you trust.",
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
