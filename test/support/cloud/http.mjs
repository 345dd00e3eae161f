// What the services that speak REST share: a table of routes, JSON in and out, and refusals as statuses.

import { createServer } from "node:http";

/** Thrown by a route: becomes the answer. */
export class Refused extends Error {
  constructor(status, body) {
    super(`${status}`);
    this.status = status;
    this.body = body;
  }
}

export async function bytesOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export const jsonOf = async (request) => JSON.parse((await bytesOf(request)).toString("utf8") || "{}");

/**
 * @param {[method: string, path: RegExp, answer: (call: {request, response, url: URL, params: string[]}) => unknown][]} routes
 * What a route returns is the JSON of the answer; undefined = it has answered by itself.
 * @param {(request, url: URL) => void} admit throws what is refused
 */
export async function listen(routes, admit) {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    try {
      admit(request, url);
      const found = routes.find(([method, path]) => method === request.method && path.test(url.pathname));
      if (!found) throw new Refused(404, { message: `no route ${request.method} ${url.pathname}` });
      const [, path, answer] = found;
      const params = path.exec(url.pathname).slice(1).map(decodeURIComponent);
      const body = await answer({ request, response, url, params });
      if (body !== undefined) sendJson(response, 200, body);
    } catch (error) {
      request.resume();
      if (error instanceof Refused) sendJson(response, error.status, error.body);
      else sendJson(response, 500, { message: String(error?.stack ?? error) });
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    port: server.address().port,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

function sendJson(response, status, body) {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
