// A real server on a loopback port over a real home in a temp folder, with a real node where a test wants one.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { startNode } from "../../src/app/node.ts";
import type { NightshiftNode } from "../../src/app/node-options.ts";
import { openContext } from "../../src/app/open-context.ts";
import { errorSchema } from "../../src/http/contract/nodes.ts";
import { routes } from "../../src/http/routes/index.ts";
import { type HttpServer, type ServeOptions, serveHttp } from "../../src/http/serve.ts";
import { tempFolder } from "../support/temp.ts";

export interface Served {
  context: Context;
  server: HttpServer;
  node: NightshiftNode | undefined;
  /** With the token, JSON in and out. A string body is sent as it is. */
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
}

export interface CallOptions {
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  /** Whatever the body parses to: the tests compare documents of every kind as they are. */
  json: ReturnType<typeof JSON.parse>;
}

export async function openHome(config?: string): Promise<Context> {
  const path = await tempFolder();
  if (config !== undefined) await writeFile(join(path, "config.yaml"), config, { mode: 0o600 });
  const context = await openContext({
    path,
    storeUrl: undefined,
    actor: "test",
    isDebug: false,
    env: { PATH: process.env.PATH, HOME: path },
    version: "0.0.0-test",
  });
  onTestFinished(() => context.close());
  await addScript(context, "hello.sh", "#!/bin/sh\necho hello\n");
  return context;
}

export async function addScript(context: Context, name: string, text: string): Promise<void> {
  const file = join(context.home.paths.scriptsFolder, name);
  await writeFile(file, text);
  await chmod(file, 0o700);
}

/** Serves a home. `withNode`: jobs really run. */
export async function serve(
  options: Partial<ServeOptions> & { config?: string; withNode?: boolean } = {},
): Promise<Served> {
  const { config, withNode, ...rest } = options;
  const context = rest.context ?? (await openHome(config));
  const node = withNode ? await startNode({ context }) : undefined;
  if (node) onTestFinished(() => node.stop({ graceMs: 0 }));
  const server = await serveHttp({
    context,
    nodeId: node?.id ?? "none",
    port: 0,
    isPortFixed: false,
    bind: "127.0.0.1",
    isInsecureAllowed: false,
    ...rest,
  });
  onTestFinished(() => server.stop());
  return { context, server, node, call: caller(context, server) };
}

function caller(context: Context, server: HttpServer): Served["call"] {
  return async (method, path, { body, type = "application/json", headers = {} } = {}) => {
    const sent = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${context.home.token}`,
        ...(sent !== undefined && { "content-type": type }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    const json = isJson ? JSON.parse(text) : undefined;
    if (json !== undefined) requireDeclared({ method, path, status: response.status, json });
    return { status: response.status, headers: response.headers, text, json };
  };
}

/** Every answer of every test is of the form that the OpenAPI document declares, without a key more or less. */
function requireDeclared(reply: { method: string; path: string; status: number; json: unknown }): void {
  const { pathname } = new URL(reply.path, "http://any");
  const route = routes.find(
    (one) =>
      one.method === reply.method.toLowerCase() &&
      new RegExp(`^/api${one.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (pathname === "/api/openapi.json" && reply.status === 200) return;
  const schema = route?.answers[reply.status]?.schema ?? errorSchema;
  if (schema === errorSchema && reply.status < 400)
    throw new Error(`${reply.method} ${pathname} declares no answer ${reply.status}`);
  const parsed = schema.safeParse(reply.json);
  if (parsed.success) return;
  const issues = JSON.stringify(parsed.error.issues);
  throw new Error(`${reply.method} ${pathname} ${reply.status} is not as declared: ${issues}`);
}

/** A job by hand, and one with a schedule far away. */
export const BY_HAND = { id: "hello", run: { script: "hello.sh" } };
export const YEARLY = { id: "yearly", schedule: "0 0 1 1 *", timezone: "UTC", run: "hello.sh" };
