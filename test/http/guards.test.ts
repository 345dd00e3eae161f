// S5: who may speak to the server. Raw sockets, since no fetch lets a test lie about its Host.

import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { BY_HAND, type Served, serve } from "./server.ts";

interface Raw {
  status: number;
  body: string;
  headers: Record<string, string | string[] | undefined>;
}

function raw(
  { server }: Served,
  options: { path?: string; method?: string; headers?: Record<string, string>; chunks?: readonly string[] },
): Promise<Raw> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const { path = "/api/status", method = "GET", headers = {}, chunks = [] } = options;
    const sent = request({ hostname, port, path, method, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body, headers: response.headers }),
      );
      response.on("error", reject);
    });
    sent.on("error", reject);
    for (const chunk of chunks) sent.write(chunk);
    sent.end();
  });
}

const bearer = ({ context }: Served) => ({ authorization: `Bearer ${context.home.token}` });

describe("the token", () => {
  test("S5: without it every route but /healthz is refused, unknown ones too, and nothing is told", async () => {
    const served = await serve();
    for (const path of [
      "/api/status",
      "/api/jobs",
      "/api/openapi.json",
      "/api/nothing",
      "/",
      "/api/events",
    ]) {
      const reply = await raw(served, { path });
      expect([path, reply.status]).toEqual([path, 401]);
      expect(reply.headers["www-authenticate"]).toBe('Bearer realm="nightshift"');
      expect(JSON.parse(reply.body).error).toMatchObject({
        code: "auth.refused",
        message: "The token is missing.",
      });
      expect(reply.body).not.toContain(served.context.home.token);
    }
  });

  test.each([
    ["one letter off", (token: string) => `Bearer ${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`],
    ["shorter", (token: string) => `Bearer ${token.slice(0, 5)}`],
    ["longer", (token: string) => `Bearer ${token}x`],
    ["empty", () => "Bearer "],
    ["Basic", (token: string) => `Basic ${Buffer.from(`x:${token}`).toString("base64")}`],
    ["without its scheme", (token: string) => token],
  ])("S5: a token that is %s is wrong", async (_, make) => {
    const served = await serve();
    const reply = await raw(served, { headers: { authorization: make(served.context.home.token) } });
    expect(reply.status).toBe(401);
    expect(JSON.parse(reply.body).error.message).toBe("The token is wrong.");
  });

  test("S5: the right one opens; answers are never cached, framed or sniffed", async () => {
    const served = await serve();
    const reply = await raw(served, { headers: bearer(served) });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

describe("Host and Origin", () => {
  test("S5: a name that was re-pointed at us (DNS rebinding) is refused even with the token", async () => {
    const served = await serve();
    const { port } = new URL(served.server.url);
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `127.0.0.1@evil.example:${port}`,
      `169.254.169.254:${port}`,
      "127.0.0.1",
      "localhost:1",
    ]) {
      const reply = await raw(served, { headers: { ...bearer(served), host } });
      expect([host, [400, 403].includes(reply.status)]).toEqual([host, true]);
    }
  });

  test("S5: every spelling of loopback with our port is ours", async () => {
    const served = await serve();
    const { port } = new URL(served.server.url);
    for (const name of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"]) {
      const reply = await raw(served, { headers: { ...bearer(served), host: `${name}:${port}` } });
      expect([name, reply.status]).toEqual([name, 200]);
    }
  });

  test.each([
    ["a foreign origin", { origin: "https://evil.example" }],
    ["an opaque origin", { origin: "null" }],
    ["another port of ours", { origin: "http://127.0.0.1:1" }],
    ["cross-site without an Origin", { "sec-fetch-site": "cross-site" }],
    ["same-site", { "sec-fetch-site": "same-site" }],
  ])("S5: a page may not call across origins, with the token or not: %s (CSRF)", async (_, headers) => {
    const served = await serve();
    const reply = await raw(served, {
      headers: { ...bearer(served), ...(headers as Record<string, string>) },
    });
    expect(reply.status).toBe(403);
    expect(JSON.parse(reply.body).error.code).toBe("auth.forbidden");
  });

  test("S5: our own pages may, and are what the browser says they are", async () => {
    const served = await serve();
    const headers = { ...bearer(served), origin: served.server.url, "sec-fetch-site": "same-origin" };
    expect((await raw(served, { headers })).status).toBe(200);
  });
});

describe("bodies", () => {
  test("S5: a body over 1 MB is refused by its declared length", async () => {
    const served = await serve();
    const reply = await served.call("POST", "/api/jobs", { body: `"${"x".repeat(1_000_001)}"` });
    expect([reply.status, reply.json.error.code]).toEqual([413, "input.too-large"]);
  });

  test("S5: a body over 1 MB that declares no length is cut off while it is read", async () => {
    const served = await serve();
    const chunks = Array.from({ length: 40 }, () => "x".repeat(50_000));
    const headers = { ...bearer(served), "content-type": "application/json" };
    const reply = await raw(served, { path: "/api/jobs", method: "POST", headers, chunks }).catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    // The server may hang up before the last chunk is written; it never takes the body.
    if (typeof reply === "object") expect(reply.status).toBe(413);
    else expect(["EPIPE", "ECONNRESET"]).toContain(reply);
    expect((await served.call("GET", "/api/jobs")).json).toEqual([]);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "S5: what a form can send (%s) is no job (CSRF)",
    async (type) => {
      const served = await serve();
      const reply = await served.call("POST", "/api/jobs", { body: BY_HAND, type });
      expect([reply.status, reply.json.error.code]).toEqual([415, "input.media-type"]);
      expect((await served.call("GET", "/api/jobs")).json).toEqual([]);
    },
  );

  test("a body that is not JSON, not UTF-8 or missing is named as that", async () => {
    const { call, server, context } = await serve();
    const broken = await call("POST", "/api/jobs", { body: "{id: " });
    expect([broken.status, broken.json.error.code]).toEqual([400, "input.invalid"]);
    expect(broken.json.error.message).toMatch(/^The body is not JSON: /);
    const missing = await call("POST", "/api/jobs");
    expect([missing.status, missing.json.error.message]).toEqual([400, "The body is missing."]);
    const binary = await fetch(`${server.url}/api/jobs`, {
      method: "POST",
      headers: { authorization: `Bearer ${context.home.token}`, "content-type": "application/json" },
      body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
    });
    expect([binary.status, ((await binary.json()) as { error: { message: string } }).error.message]).toEqual([
      400,
      "The body is not UTF-8.",
    ]);
  });
});

describe("calls from inside a run", () => {
  const inside = { headers: { "x-nightshift-run-id": "01run" } };

  test("S1: a caller that carries a run's mark may read but not change jobs", async () => {
    const { call } = await serve();
    await call("POST", "/api/jobs", { body: BY_HAND });
    const changes: [string, string, unknown?][] = [
      ["POST", "/api/jobs", { ...BY_HAND, id: "other" }],
      ["PATCH", "/api/jobs/hello", { name: "x" }],
      ["PUT", "/api/jobs/hello", BY_HAND],
      ["DELETE", "/api/jobs/hello"],
      ["POST", "/api/jobs/hello/pause"],
      ["POST", "/api/jobs/hello/resume"],
      ["POST", "/api/apply", [BY_HAND]],
    ];
    for (const [method, path, body] of changes) {
      const reply = await call(method, path, { ...inside, body });
      expect([method, path, reply.status]).toEqual([method, path, 403]);
      expect(reply.json.error.message).toBe("run 01run may not change jobs.");
    }
    expect((await call("GET", "/api/jobs", inside)).json).toMatchObject([
      { id: "hello", version: 1, state: "scheduled" },
    ]);
  });

  test("S1: unless the config allows it", async () => {
    const { call } = await serve({ config: "http: {allowRunsToSchedule: true}\n" });
    expect((await call("POST", "/api/jobs", { ...inside, body: BY_HAND })).status).toBe(201);
  });
});
