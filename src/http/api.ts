// The application behind the socket: guards first, then the route, then one place where errors become answers.
//
// I1. Nothing but `/healthz`, `/health`, `/hooks` and `/execute`, which have doors of their own, is reached without our Host, our Origin and the token, in that order (S5).
// I2. Every route is a value of the table; this file knows none of them.

import { Hono, type Context as HonoContext } from "hono";
import type { Context } from "../app/context.ts";
import { readHealth } from "../app/health.ts";
import { readMetrics } from "../app/metrics.ts";
import { metricsText } from "../app/metrics-text.ts";
import { Fault, isFault, messageOf } from "../kernel/errors.ts";
import { HOUR } from "../kernel/time.ts";
import { readBody } from "./bodies.ts";
import { errorDocument, statusOf } from "./errors.ts";
import { serveExecute } from "./execute.ts";
import {
  type OwnAddress,
  refuseInsideRun,
  requireOwnHost,
  requireOwnOrigin,
  requireToken,
} from "./guards.ts";
import { serveHooks } from "./hooks.ts";
import { readParameters } from "./parameters.ts";
import type { Answer, Route } from "./route.ts";
import { routes } from "./routes/index.ts";

export interface ApiDeps {
  context: Context;
  nodeId: string;
  /** Known once the port is. */
  own(): OwnAddress;
  /** Aborts when the server stops. */
  signal: AbortSignal;
  track(): () => void;
  mcp?: McpDoor;
}

/** Another surface behind the same guards: it is handed requests, and the run that sends them where that is allowed. */
export interface McpDoor {
  handle(
    request: Request,
    caller: { runId: string; jobId: string | undefined } | undefined,
  ): Promise<Response>;
}

/** Set by whatever speaks for a run (S1). */
const RUN_HEADER = "x-nightshift-run-id";

const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  ["cache-control", "no-store"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["cross-origin-resource-policy", "same-origin"],
  ["referrer-policy", "no-referrer"],
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
];

export function buildApi(deps: ApiDeps): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of SECURITY_HEADERS) c.res.headers.set(name, value);
  });
  app.get("/healthz", async (c) => {
    const health = await readHealth(deps.context, deps.nodeId);
    return c.json(health, health.status === "ok" ? 200 : 503);
  });
  serveHooks(app, deps.context);
  serveExecute(app, deps);
  app.use(async (c, next) => {
    guard(c, deps);
    await next();
  });
  app.get("/metrics", async (c) => {
    const tasksSince = deps.context.clock.now() - HOUR;
    const document = await readMetrics(deps.context, { since: 0, tasksSince });
    return c.text(metricsText(document), 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
  });
  const description = describeOnce(deps.context.version);
  app.get("/api/openapi.json", async (c) => c.json(await description()));
  for (const route of routes) {
    app.on(route.method.toUpperCase(), honoPath(route), (c) => callRoute(c, route, deps));
  }
  const { mcp } = deps;
  if (mcp) app.all("/mcp", async (c) => mcp.handle(c.req.raw, await runThatCalls(c, deps.context)));
  app.notFound((c) => {
    throw noRoute(c);
  });
  app.onError((error, c) => refusal(error, c, deps));
  return app;
}

/** Made when it is first asked for, and kept: making it takes tens of milliseconds of the node's own thread. */
function describeOnce(version: string): () => Promise<Record<string, unknown>> {
  let made: Promise<Record<string, unknown>> | undefined;
  return () => {
    made ??= import("./openapi.ts").then(({ openApiDocument }) => openApiDocument({ version, routes }));
    return made;
  };
}

function guard(c: HonoContext, { own, context }: ApiDeps): void {
  requireOwnHost(c.req.header("host"), own());
  requireOwnOrigin({ origin: c.req.header("origin"), fetchSite: c.req.header("sec-fetch-site") }, own());
  requireToken(c.req.header("authorization"), context.home.token);
}

/** S1: refused, unless the config lets runs schedule; then it is known who they are. */
async function runThatCalls(
  c: HonoContext,
  context: Context,
): Promise<{ runId: string; jobId: string | undefined } | undefined> {
  const runId = c.req.header(RUN_HEADER);
  refuseInsideRun(runId, context.config.http.allowRunsToSchedule);
  if (runId === undefined) return undefined;
  const run = await context.ledger.run(runId);
  return { runId, jobId: run && "id" in run ? run.jobId : undefined };
}

/** `/jobs/{id}` → `/api/jobs/:id`. */
function honoPath({ path }: Route): string {
  return `/api${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
}

async function callRoute(c: HonoContext, route: Route, deps: ApiDeps): Promise<Response> {
  const context: Context = { ...deps.context, actor: "http" };
  if (route.changesJobs) refuseInsideRun(c.req.header(RUN_HEADER), context.config.http.allowRunsToSchedule);
  const now = context.clock.now();
  const query = readParameters(route.query ?? {}, new URL(c.req.url).searchParams, now);
  const isWrite = route.method !== "get";
  const body = isWrite ? await readBody(c.req.raw, route.body) : { text: "", type: undefined };
  const answer = await route.handle({
    context,
    now,
    path: c.req.param(),
    query,
    body: body.text,
    bodyType: body.type,
    header: (name) => c.req.header(name),
    signal: deps.signal,
    track: deps.track,
  });
  return responseOf(answer);
}

function responseOf(answer: Answer): Response {
  if (answer instanceof Response) return answer;
  return Response.json(answer.document, {
    status: answer.status,
    ...(answer.headers && { headers: answer.headers }),
  });
}

/** 404, or 405 where the path exists with another method. */
function noRoute(c: HonoContext): Fault {
  const allowed = routes
    .filter((route) => matches(route, c.req.path))
    .map(({ method }) => method.toUpperCase());
  const what = `${c.req.method} ${c.req.path}`;
  if (allowed.length === 0)
    return new Fault("input.not-found", `There is no route ${what}.`, { hint: "See /api/openapi.json." });
  return new Fault("input.method", `There is no ${what}.`, {
    hint: `Use ${allowed.join(" or ")}.`,
    details: { allowed },
  });
}

function matches(route: Route, path: string): boolean {
  const pattern = route.path.replaceAll(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^/api${pattern}$`).test(path);
}

function refusal(error: Error, c: HonoContext, { context }: ApiDeps): Response {
  const ifMatch = c.req.header("if-match");
  const status = statusOf(error, { hasPrecondition: ifMatch !== undefined && ifMatch.trim() !== "*" });
  if (!isFault(error))
    context.log.error("http-failed", { method: c.req.method, path: c.req.path, error: messageOf(error) });
  return Response.json(errorDocument(error), { status, headers: headersOf(error, status) });
}

function headersOf(error: unknown, status: number): Record<string, string> {
  if (status === 401) return { "www-authenticate": 'Bearer realm="nightshift"' };
  if (status === 503) return { "retry-after": "1" };
  if (status === 413) return { connection: "close" };
  const allowed = isFault(error) && status === 405 ? error.details?.allowed : undefined;
  return Array.isArray(allowed) ? { allow: allowed.join(", ") } : {};
}
