// `/mcp` on a node: streamable HTTP, one session for each client. Who may call at all was decided before (S5, S1).
//
// I1. A session is known by an id that nobody can guess, and ends with its client's DELETE, with the node, when it was
//     idle for a day, or when a hundred newer ones were used since.
// I2. No timer: what is too old goes when somebody calls.

import { openSession, type Session } from "../app/agent-tools/session.ts";
import type { Context } from "../app/context.ts";
import { messageOf } from "../kernel/errors.ts";
import { makeId } from "../kernel/ids.ts";
import { DAY } from "../kernel/time.ts";
import { makeServer } from "./make-server.ts";
import type * as sdk from "./sdk.ts";

const IDLE_MS = DAY;
const MOST_SESSIONS = 100;

/** The run that calls, where the config allows it (S1). */
export type Caller = { runId: string; jobId: string | undefined } | undefined;

export interface McpHttp {
  /** Never rejects for what a client did wrong. */
  handle(request: Request, caller: Caller): Promise<Response>;
  /** Ends every session and stream. Idempotent. */
  close(): Promise<void>;
}

interface HttpSession {
  transport: sdk.WebStandardStreamableHTTPServerTransport;
  session: Session;
  usedAtMs: number;
  end(): Promise<void>;
}

export async function makeMcpHttp(context: Context): Promise<McpHttp> {
  const sessions = new HttpSessions(await import("./sdk.ts"), context);
  return {
    handle: (request, caller) => sessions.handle(request, caller),
    close: () => sessions.close(),
  };
}

class HttpSessions {
  readonly #sdk: typeof sdk;
  readonly #context: Context;
  readonly #known = new Map<string, HttpSession>();
  #closed: Promise<void> | undefined;

  constructor(door: typeof sdk, context: Context) {
    this.#sdk = door;
    this.#context = context;
  }

  async handle(request: Request, caller: Caller): Promise<Response> {
    if (this.#closed) return refusal(503, "The node is stopping.");
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, caller);
    const known = this.#known.get(id);
    if (!known) return refusal(404, "This session has ended; begin another with initialize.");
    known.usedAtMs = this.#context.clock.monotonicMs();
    return known.transport.handleRequest(request);
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all([...this.#known.values()].map((one) => one.end())).then(() => {});
    return this.#closed;
  }

  /** A request without a session: `initialize`, or something the transport refuses. */
  async #begin(request: Request, caller: Caller): Promise<Response> {
    await this.#endOld();
    const one = this.#open(caller);
    try {
      const { server } = makeServer(this.#sdk, one.session, this.#context);
      server.onerror = (error) => this.#context.log.debug("mcp-message-refused", { error: messageOf(error) });
      await server.connect(one.transport);
      return await one.transport.handleRequest(request);
    } finally {
      if (one.transport.sessionId === undefined) await one.end();
      // It began while the node was stopping.
      else if (this.#closed) await one.end();
    }
  }

  #open(caller: Caller): HttpSession {
    const { clock, random } = this.#context;
    const session = openSession({ context: this.#context, cwd: undefined, caller, isNode: true });
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => makeId(clock.now(), random),
      onsessioninitialized: (id) => void this.#known.set(id, one),
      onsessionclosed: () => void one.end(),
    });
    let ended: Promise<void> | undefined;
    const end = async () => {
      if (transport.sessionId !== undefined) this.#known.delete(transport.sessionId);
      await transport.close().catch(() => {});
      await session.close();
    };
    const one: HttpSession = {
      ...{ transport, session, usedAtMs: clock.monotonicMs() },
      end: () => {
        ended ??= end().catch((error) =>
          this.#context.log.error("mcp-session-not-ended", { error: messageOf(error) }),
        );
        return ended;
      },
    };
    return one;
  }

  /** (I1, I2) */
  async #endOld(): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs();
    const byUse = [...this.#known.values()].sort((a, b) => b.usedAtMs - a.usedAtMs);
    const old = byUse.filter(
      ({ usedAtMs }, index) => index >= MOST_SESSIONS - 1 || nowMs - usedAtMs > IDLE_MS,
    );
    await Promise.all(old.map((one) => one.end()));
  }
}

/** As the protocol words what concerns no request of it. */
function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status });
}
