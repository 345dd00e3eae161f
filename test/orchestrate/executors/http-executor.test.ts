// HTTP as an attempt, against a server that speaks back.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { httpAttempt } from "../../../src/orchestrate/executors/http-executor.ts";
import type { HttpWork } from "../../../src/records/executor-config.ts";
import { makeContext, realClock } from "../../execute/room.ts";
import { callOf } from "./call.ts";

interface Asked {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

async function server(answer: (asked: Asked, response: ServerResponse) => void) {
  const asked: Asked[] = [];
  const http = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      const one = { method: request.method, url: request.url, headers: request.headers, body };
      asked.push(one);
      answer(one, response);
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { asked, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

const resolve = (text: string) => text.replaceAll("${env:KEY}", "s3cret");

const attempt = (
  work: Partial<HttpWork> & { url: string },
  effects: "external" | "idempotent" = "external",
) =>
  httpAttempt({ clock: realClock, resolve }, "stock", {
    work: { method: undefined, headers: {}, query: {}, body: undefined, allowPrivate: [], ...work },
    contract: { effects },
  });

const json = (value: unknown) => (_: Asked, response: ServerResponse) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(value));
};

describe("an HTTP executor", () => {
  test("asks with its templates filled; a JSON answer is the result", async () => {
    const { asked, url } = await server(json({ left: 3 }));
    const run = await attempt({
      url: `${url}/stock/{{ params.sku }}`,
      query: { site: "{{ params.site }}", fixed: 1, none: null },
      headers: { "X-Key": "${env:KEY}", "X-Run": "{{ run.id }}" },
    });
    const call = callOf({ sku: "a/../b c?x", site: "Köln" });

    expect(await run(call)).toEqual({
      state: "succeeded",
      output: '{"left":3}',
      isSilent: false,
      result: { left: 3 },
    });
    expect(asked).toMatchObject([
      {
        method: "GET",
        url: "/stock/a%2F..%2Fb%20c%3Fx?site=K%C3%B6ln&fixed=1",
        headers: { "x-key": "s3cret", "x-run": call.ctx.run.id },
      },
    ]);
  });

  test("a body is sent as JSON with its values' own types; a text as it is", async () => {
    const { asked, url } = await server(json({}));
    const body = { lot: "{{ params.lot }}", list: ["{{ params.lot }}"], text: "lot {{ params.lot }}" };

    await (await attempt({ url, body }))(callOf({ lot: 7 }));
    await (await attempt({ url, method: "PUT", body: "plain" }))(callOf({}));

    expect(asked.map(({ method, body: text }) => [method, text])).toEqual([
      ["POST", '{"lot":7,"list":[7],"text":"lot 7"}'],
      ["PUT", "plain"],
    ]);
    expect(asked[0]?.headers["content-type"]).toBe("application/json");
  });

  test("S2: what a task gives is never read as a reference to a secret", async () => {
    const { asked, url } = await server(json({}));

    await (await attempt({ url, headers: { "x-given": "{{ params.name }}" } }))(
      callOf({ name: "${env:KEY}" }),
    );

    expect(asked[0]?.headers["x-given"]).toBe("${env:KEY}");
  });

  test.each([
    [404, "http"],
    [400, "http"],
    [408, "unavailable"],
    [429, "unavailable"],
    [503, "unavailable"],
  ])("%d fails the attempt as %s, with what was said", async (status, code) => {
    const { url } = await server((_, response) => {
      response.statusCode = status;
      response.end("no such\n  sku");
    });

    expect(await (await attempt({ url }))(callOf({}))).toEqual({
      state: "failed",
      error: { code, message: `${new URL(url).host} answered ${status}: no such sku` },
    });
  });

  test("an answer that is no JSON is told with its status; one that only says so fails", async () => {
    const words = await server((_, response) => response.end("all well"));
    const liar = await server((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end("<html>");
    });

    expect(await (await attempt({ url: words.url }))(callOf({}))).toMatchObject({
      result: { status: 200, body: "all well" },
    });
    expect(await (await attempt({ url: liar.url }))(callOf({}))).toMatchObject({ error: { code: "result" } });
  });

  test("law 4: a POST that may have arrived and was not answered is unknown, unless repeating was declared safe", async () => {
    const { url } = await server((_, response) => response.destroy());
    const post = { url, method: "POST", body: { a: 1 } };

    expect(await (await attempt(post))(callOf({}))).toMatchObject({ state: "unknown" });
    expect(await (await attempt(post, "idempotent"))(callOf({}))).toMatchObject({
      error: { code: "unavailable" },
    });
    expect(await (await attempt({ url }))(callOf({}))).toMatchObject({ error: { code: "unavailable" } });
  });

  test("nobody there: unavailable, and certainly nothing happened", async () => {
    const { url } = await server(json({}));
    const gone = url.replace(/\d+$/, "1");

    expect(await (await attempt({ url: gone, method: "POST", body: {} }))(callOf({}))).toMatchObject({
      error: { code: "unavailable" },
    });
  });

  test("its time limit ends it", async () => {
    const { url } = await server(() => {});

    const outcome = await (await attempt({ url }))(callOf({}, { timeoutMs: 50 }));

    expect(outcome).toMatchObject({
      error: { code: "unavailable", message: expect.stringContaining("50ms") },
    });
  });

  test("a cancel ends it, told as that cancel", async () => {
    const ctx = makeContext();
    const { url } = await server(() => ctx.abort({ kind: "cancel", by: "ada" }));

    expect(await (await attempt({ url }))(callOf({}, { ctx }))).toEqual({ state: "cancelled", by: "ada" });
  });

  test("SSRF: a private address that params lead to is refused, one that a person wrote out is not", async () => {
    const { url, asked } = await server(json({ ok: true }));
    const given = await attempt({ url: "{{ params.url }}" });

    expect(await given(callOf({ url }))).toMatchObject({
      error: { code: "refused", message: expect.stringContaining("allowPrivate") },
    });
    expect(asked).toEqual([]);
    const allowed = await attempt({ url: "{{ params.url }}", allowPrivate: ["127.0.0.1"] });
    expect(await allowed(callOf({ url }))).toMatchObject({ result: { ok: true } });
  });

  test("a param that its templates need and nobody gave is refused before anything is sent", async () => {
    const { url, asked } = await server(json({}));

    expect(await (await attempt({ url: `${url}/{{ params.sku }}` }))(callOf({}))).toMatchObject({
      error: { code: "params", message: expect.stringContaining("stock: http.url") },
    });
    expect(asked).toEqual([]);
  });

  test("a template that cannot be read is refused at registration", async () => {
    await expect(attempt({ url: "http://x/{{ params.sku" })).rejects.toThrow("a template is not closed");
  });
});
