// `POST /execute`, its long poll and its cancel, and `GET /health`: the door for other machines' nodes (W5).
//
// I1. A token opens `/execute`: the home's, or one of `http.nodes`, which opens nothing else (S5). `/health` alone says
//     without a token whether this node is well, and nothing more.
// I2. The Host is not judged: machines are reached through forwarded ports and proxies, and a page that was pointed here
//     by somebody else's DNS has no token.

import type { Hono, Context as HonoContext } from "hono";
import type { Context } from "../app/context.ts";
import { openDoor } from "../app/remote/open-door.ts";
import { readServedHealth, servedExecutors } from "../app/remote/serve-health.ts";
import { acceptTask, cancelTask, readTask } from "../app/remote/serve-task.ts";
import { Fault } from "../kernel/errors.ts";
import { parseDuration, SECOND } from "../kernel/time.ts";
import type { NodeAccess } from "../records/http-config.ts";
import type { ExecuteAnswer } from "../records/remote.ts";
import { parseBody, readBody } from "./bodies.ts";
import { executeRequestSchema } from "./contract/execute.ts";
import { isSameSecret, type OwnAddress, refuseInsideRun, requireOwnOrigin, tokenOf } from "./guards.ts";

export interface ExecuteDeps {
  context: Context;
  nodeId: string;
  own(): OwnAddress;
  /** Aborts when the server stops. */
  signal: AbortSignal;
}

/** A poll that waits longer is answered with how things stand. */
const LONGEST_WAIT_MS = 60 * SECOND;
const RUN_HEADER = "x-nightshift-run-id";
const BODY = { types: ["application/json"] as const, schema: executeRequestSchema, isRequired: true };

/** Adds the door. */
export function serveExecute(app: Hono, deps: ExecuteDeps): void {
  const context: Context = { ...deps.context, actor: "remote" };
  // Opened with the first request: most homes have no neighbours.
  let opened: ReturnType<typeof openDoor> | undefined;
  const door = () => {
    opened ??= openDoor(context, deps.signal);
    return opened;
  };
  app.get("/health", async (c) => {
    const executor = c.req.query("executor");
    const health = await readServedHealth(door(), { nodeId: deps.nodeId, executor });
    const status = health.status === "ok" ? 200 : 503;
    if (tokenOf(c.req.header("authorization")) === undefined)
      return c.json({ status: health.status === "ok" ? "ok" : "unavailable", now: health.now }, status);
    const access = requireAccess(c, deps);
    return c.json({ ...health, executors: await servedExecutors(context, access) }, status);
  });
  app.post("/execute", async (c) => {
    const access = requireAccess(c, deps);
    const waitMs = waitOf(c);
    const { text } = await readBody(c.req.raw, BODY);
    const answer = await acceptTask(door(), parseBody(text, executeRequestSchema), access);
    return reply(
      waitMs > 0 && !answer.isOver
        ? await readTask(door(), answer.id, { waitMs, signal: deps.signal })
        : answer,
    );
  });
  app.get("/execute/:id", async (c) => {
    requireAccess(c, deps);
    return reply(await readTask(door(), c.req.param("id"), { waitMs: waitOf(c), signal: deps.signal }));
  });
  app.delete("/execute/:id", async (c) => {
    requireAccess(c, deps);
    return reply(await cancelTask(door(), { id: c.req.param("id") }));
  });
  app.delete("/execute", async (c) => {
    requireAccess(c, deps);
    const { executor = "", key = "" } = c.req.query();
    return reply(await cancelTask(door(), { executor, key }));
  });
  app.all("/execute", (c) => refuseMethod(c, ["POST", "DELETE"]));
  app.all("/execute/:id", (c) => refuseMethod(c, ["GET", "DELETE"]));
}

/** 202 while it is not over. */
function reply(answer: ExecuteAnswer): Response {
  return Response.json(answer, { status: answer.isOver ? 200 : 202 });
}

/** (I1) Undefined = the home's own token: everything. Throws `auth.refused`, `auth.forbidden`. */
function requireAccess(c: HonoContext, { context, own }: ExecuteDeps): NodeAccess | undefined {
  requireOwnOrigin({ origin: c.req.header("origin"), fetchSite: c.req.header("sec-fetch-site") }, own());
  refuseInsideRun(c.req.header(RUN_HEADER), context.config.http.allowRunsToSchedule);
  const given = tokenOf(c.req.header("authorization"));
  if (given !== undefined && isSameSecret(given, context.home.token)) return undefined;
  const nodes = Object.values(context.config.http.nodes);
  const found = given === undefined ? undefined : nodes.find((one) => isTokenOf(one, given, context));
  if (found) return found;
  throw new Fault("auth.refused", given === undefined ? "The token is missing." : "The token is wrong.", {
    hint: "Send Authorization: Bearer with a token of http.nodes, or with what the home's file `token` holds.",
  });
}

function isTokenOf({ token }: NodeAccess, given: string, { resolveReferences, log }: Context): boolean {
  try {
    return isSameSecret(given, resolveReferences(token));
  } catch (error) {
    // A variable that is missing opens nothing.
    log.warn("node-token-missing", { error: String(error) });
    return false;
  }
}

function waitOf(c: HonoContext): number {
  const text = c.req.query("wait");
  if (text === undefined) return 0;
  const ms = parseDuration(text);
  if (ms !== undefined) return Math.min(ms, LONGEST_WAIT_MS);
  throw new Fault("input.usage", `wait "${text}" is not a duration.`, { hint: "Write ?wait=20s." });
}

function refuseMethod(c: HonoContext, allowed: readonly string[]): never {
  throw new Fault("input.method", `There is no ${c.req.method} ${c.req.path}.`, {
    hint: `Use ${allowed.join(" or ")}.`,
    details: { allowed },
  });
}
