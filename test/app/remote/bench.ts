// Two homes: one whose node serves `/execute`, one whose workflows have it do their tasks.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Context } from "../../../src/app/context.ts";
import { startNode } from "../../../src/app/node.ts";
import type { NightshiftNode } from "../../../src/app/node-options.ts";
import type { OpenOptions } from "../../../src/app/open-context.ts";
import { type HttpServer, serveHttp } from "../../../src/http/serve.ts";
import { testContext } from "../../support/home.ts";
import { tempFolder } from "../../support/temp.ts";
import { WorkflowBench } from "../workflows/bench.ts";

export interface Side {
  context: Context;
  node: NightshiftNode;
}

/** A home with this config, and a node on it. */
export async function side(config: string, options: Partial<OpenOptions> = {}): Promise<Side> {
  const path = options.path ?? join(await tempFolder(), "home");
  await mkdir(path, { recursive: true, mode: 0o700 });
  await writeFile(join(path, "config.yaml"), config, { mode: 0o600 });
  const context = await testContext({ path, ...options });
  const node = await startNode({ context });
  onTestFinished(() => node.stop({ graceMs: 0 }));
  return { context, node };
}

export interface ServedSide extends Side {
  server: HttpServer;
  url: string;
  /** A request with the home's token, or with another. */
  call(method: string, path: string, options?: { body?: unknown; token?: string | null }): Promise<Reply>;
}

export interface Reply {
  status: number;
  json: ReturnType<typeof JSON.parse>;
}

/** The other machine. */
export async function served(
  executors: OpenOptions["executors"] & {},
  { config = "", port = 0, ...options }: Partial<OpenOptions> & { config?: string; port?: number } = {},
): Promise<ServedSide> {
  const one = await side(config, { executors, ...options });
  const server = await serve(one, port);
  return { ...one, server, url: server.url, call: caller(one.context, server.url) };
}

export async function serve({ context, node }: Side, port = 0): Promise<HttpServer> {
  const server = await serveHttp({
    ...{ context, nodeId: node.id, port, isPortFixed: port !== 0 },
    ...{ bind: "127.0.0.1", isInsecureAllowed: false },
  });
  onTestFinished(() => server.stop());
  return server;
}

function caller({ home }: Context, url: string): ServedSide["call"] {
  return async (method, path, { body, token = home.token } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  };
}

/** The home whose workflows use it. `more` = further YAML of its config. */
export async function calling(
  remotes: readonly { name: string; url: string; token?: string; more?: string }[],
  { more = "", executors = {} }: { more?: string; executors?: OpenOptions["executors"] } = {},
): Promise<WorkflowBench & Side> {
  const tokens = Object.fromEntries(remotes.map(({ token = "" }, index) => [`TOKEN_${index}`, token]));
  const lines = remotes.map(
    ({ name, url, more: own = "" }, index) =>
      `  - {name: ${name}, url: "${url}/execute", token: "\${env:TOKEN_${index}}"${own}}`,
  );
  const config = `remoteExecutors:\n${lines.join("\n")}\n${more}`;
  const one = await side(config, {
    executors,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: "UTC", ...tokens },
  });
  return Object.assign(new WorkflowBench(one.context, one.context.executors), { node: one.node }) as never;
}
