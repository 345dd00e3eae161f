// HTTP(S) servers on loopback that do what a test says and tell what they were sent.

import { once } from "node:events";
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Loopback {
  url: string;
  port: number;
  received: Received[];
  /** Resolves when one more request has arrived completely. */
  nextRequest(): Promise<Received>;
}

type Answer = (response: ServerResponse, request: IncomingMessage, received: Received) => void;

/** Serves on 127.0.0.1 until the test ends; `tls` makes it https. */
export async function serve(answer: Answer, tls?: { key: string; cert: string }): Promise<Loopback> {
  const received: Received[] = [];
  const waiting: ((request: Received) => void)[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url: path, headers } = request;
    const entry: Received = { method, path, headers, body: Buffer.concat(chunks).toString("utf8") };
    received.push(entry);
    waiting.shift()?.(entry);
    answer(response, request, entry);
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    // A client that went away mid-body is what some tests are about.
    handle(request, response).catch(() => response.destroy());
  };
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  const url = `${tls ? "https" : "http"}://127.0.0.1:${port}/in`;
  return { url, port, received, nextRequest: () => new Promise((resolve) => waiting.push(resolve)) };
}

/** A loopback port on which nobody listens. */
export async function deadPort(): Promise<number> {
  const server = http.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
