// A scripted model behind a real HTTP server on loopback, for everything that asks a model: each request takes the next
// step of the script. It speaks OpenAI chat completions and responses, Anthropic messages and Google generateContent,
// streamed or whole, as the request asks.
//
//   const server = await startModelServer([callTools([{ name: "now", arguments: {} }]), say("It is noon.")]);
//   … { provider: "openai-compatible", id: "scripted", baseUrl: server.baseUrl } …
//   await server.arrived(2);                     // the second request is here; server.requests[1] is it
//
// I1. A request without a step is answered 400, so that nothing is tried again; `close` then throws: a script is exact.
// I2. It ends with the test that started it, stalled answers and open gates included.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { ReplyStep, Step } from "./model-steps.ts";
import { type Answer, answerOf, type Dialect, type Frame, wires } from "./model-wire.ts";

export {
  callTools,
  cutAfter,
  empty,
  fail,
  huge,
  makeGate,
  raw,
  redirect,
  type Step,
  say,
  stallAfter,
} from "./model-steps.ts";

export interface RecordedRequest {
  /** From 1. */
  number: number;
  method: string;
  path: string;
  dialect: Dialect;
  headers: IncomingMessage["headers"];
  /** As sent: tests look at whatever a provider's form has. */
  body: ReturnType<typeof JSON.parse>;
  isStreaming: boolean;
  /** Resolves when the connection of this request has ended for it: answered, cut, or the client gave up. */
  ended: Promise<"answered" | "gone">;
}

/** A list takes one step a request; a function decides by request. */
export type Script = readonly Step[] | ((request: RecordedRequest) => Step);

export interface ModelServer {
  /** `http://127.0.0.1:PORT/v1`, for every provider but Google. */
  baseUrl: string;
  /** `http://127.0.0.1:PORT/v1beta`. */
  googleUrl: string;
  port: number;
  requests: readonly RecordedRequest[];
  /** Resolves with the `number`th request (from 1) as soon as its body has arrived. */
  arrived(number: number): Promise<RecordedRequest>;
  /** Adds steps to a list. */
  add(...steps: Step[]): void;
  /** Ends everything. Idempotent. Throws when a request found no step. */
  close(): Promise<void>;
}

export interface ModelServerOptions {
  /** What `/v1/models` and `/api/tags` list. Default `["scripted"]`. */
  models?: readonly string[];
  /** Default: a free port. */
  port?: number;
  /** false = the caller closes it (benchmarks). Default true: closed when the current test has finished. */
  closesWithTest?: boolean;
}

export async function startModelServer(
  script: Script,
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const steps = typeof script === "function" ? undefined : [...script];
  const requests: RecordedRequest[] = [];
  const watchers = new Map<number, ((request: RecordedRequest) => void)[]>();
  const unscripted: number[] = [];

  const stepFor = (request: RecordedRequest): Step | undefined =>
    typeof script === "function" ? script(request) : steps?.shift();

  const server = createServer((incoming, response) => {
    const handle = async () => {
      if (incoming.method === "GET") return list(incoming, response, options.models ?? ["scripted"]);
      const request = await readRequest(incoming, response, requests.length + 1);
      if (!request) return;
      requests.push(request);
      const step = stepFor(request);
      for (const watcher of watchers.get(request.number) ?? []) watcher(request);
      if (!step) {
        unscripted.push(request.number);
        respond(response, 400, `{"error":{"message":"the script has no step ${request.number}"}}`);
      } else await play(step, request, response);
    };
    void handle().catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  let closing: Promise<void> | undefined;
  const end = async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
    if (unscripted.length > 0)
      throw new Error(`requests without a step in the script: ${unscripted.join(", ")}`);
  };
  const close = () => {
    closing ??= end();
    return closing;
  };
  if (options.closesWithTest !== false) {
    // Benchmarks use this server too, without a test around them.
    const { onTestFinished } = await import("vitest");
    onTestFinished(close);
  }

  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    googleUrl: `http://127.0.0.1:${port}/v1beta`,
    port,
    requests,
    arrived(number) {
      const request = requests[number - 1];
      if (request) return Promise.resolve(request);
      return new Promise((resolve) => {
        watchers.set(number, [...(watchers.get(number) ?? []), resolve]);
      });
    },
    add(...more) {
      if (!steps) throw new Error("this server's script is a function");
      steps.push(...more);
    },
    close,
  };
}

function list(incoming: IncomingMessage, response: ServerResponse, models: readonly string[]): void {
  const isOllama = incoming.url === "/api/tags";
  const isModels = incoming.url?.endsWith("/models") === true;
  const found = isOllama
    ? { models: models.map((name) => ({ name, model: name })) }
    : { object: "list", data: models.map((id) => ({ id, object: "model", owned_by: "test" })) };
  respond(response, isOllama || isModels ? 200 : 404, JSON.stringify(found));
}

function dialectOf(path: string): Dialect | undefined {
  if (/:(stream)?generateContent\b/i.test(path)) return "google";
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/responses")) return "responses";
  return path.endsWith("/messages") ? "anthropic" : undefined;
}

async function readRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  number: number,
): Promise<RecordedRequest | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const path = incoming.url ?? "";
  const dialect = dialectOf(path);
  if (!dialect) {
    respond(response, 404, `{"error":{"message":"nothing is served at this path"}}`);
    return undefined;
  }
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  const ended = new Promise<"answered" | "gone">((resolve) => {
    response.once("close", () => resolve(response.writableFinished ? "answered" : "gone"));
  });
  return {
    number,
    method: incoming.method ?? "",
    path,
    dialect,
    headers: incoming.headers,
    body,
    isStreaming: dialect === "google" ? /stream/i.test(path) : body.stream === true,
    ended,
  };
}

async function play(step: Step, request: RecordedRequest, response: ServerResponse): Promise<void> {
  switch (step.kind) {
    case "hang":
      return;
    case "drop":
      response.destroy();
      return;
    case "raw":
      response.writeHead(step.status, step.headers).end(step.body);
      return;
    case "reply": {
      const model = String(request.body.model ?? "scripted");
      const answer = answerOf(step, { number: request.number, model });
      await (request.isStreaming
        ? stream(step, answer, { request, response })
        : whole(step, answer, { request, response }));
    }
  }
}

interface Exchange {
  request: RecordedRequest;
  response: ServerResponse;
}

async function whole(step: ReplyStep, answer: Answer, { request, response }: Exchange): Promise<void> {
  if (!(await mayPass(step, response))) return;
  if (step.breaks) breakOff(step.breaks.by, response);
  else respond(response, 200, JSON.stringify(wires[request.dialect].whole(answer)));
}

async function stream(step: ReplyStep, answer: Answer, { request, response }: Exchange): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  const withUsage = request.body.stream_options?.include_usage === true;
  let pieces = 0;
  for (const frame of wires[request.dialect].frames(answer, withUsage)) {
    if (step.breaks && pieces >= step.breaks.after) {
      breakOff(step.breaks.by, response);
      return;
    }
    if (frame.isContent && !(await mayPass(step, response))) return;
    if (response.destroyed) return;
    const isFlowing = await new Promise<boolean>((resolve) => {
      response.write(textOf(frame), (error) => resolve(!error));
    });
    if (!isFlowing) return;
    if (frame.isContent) pieces++;
  }
  response.end();
}

/** A stall leaves the connection as it is: nothing more is ever written. */
function breakOff(by: "cut" | "stall", response: ServerResponse): void {
  if (by === "cut") response.destroy();
}

/** false = the client has gone meanwhile. */
async function mayPass(step: ReplyStep, response: ServerResponse): Promise<boolean> {
  if (step.pieceDelayMs !== undefined) await pause(step.pieceDelayMs, undefined, { ref: false });
  if (!step.gate) return !response.destroyed;
  const gone = new Promise<false>((resolve) => {
    if (response.destroyed) resolve(false);
    else response.once("close", () => resolve(false));
  });
  return await Promise.race([step.gate.pass().then(() => true), gone]);
}

function textOf({ event, data }: Frame): string {
  const body = typeof data === "string" ? data : JSON.stringify(data);
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${body}\n\n`;
}

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
