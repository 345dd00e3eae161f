// The document that programs are generated from must be true: whole, well-formed, and what the server really does.
// (That every answer has the declared form is checked at every call of every test: server.ts.)

import { describe, expect, test } from "vitest";
import { routes } from "../../src/http/routes/index.ts";
import { serve } from "./server.ts";

type Json = Record<string, unknown>;

async function document(): Promise<Json> {
  const { call } = await serve();
  const reply = await call("GET", "/api/openapi.json");
  expect(reply.status).toBe(200);
  return reply.json;
}

function operationsOf(api: Json): { path: string; method: string; operation: Json }[] {
  return Object.entries(api.paths as Record<string, Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

function* refsIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (key === "$ref" && typeof inner === "string") yield inner;
    else yield* refsIn(inner);
  }
}

function resolve(api: Json, ref: string): unknown {
  const steps = ref.slice(2).split("/");
  return steps.reduce<unknown>((at, step) => (at as Json | undefined)?.[step], api);
}

describe("the OpenAPI document", () => {
  test("holds every route of the server and not one more", async () => {
    const listed = operationsOf(await document()).map(({ method, path }) => `${method} ${path}`);
    const served = routes.map(({ method, path }) => `${method} /api${path}`);
    expect(listed.sort()).toEqual(
      [...served, "post /hooks/{name}", "get /healthz", "get /api/openapi.json"].sort(),
    );
  });

  test("every operation it names answers, and none is unknown to the server", async () => {
    const { call } = await serve();
    for (const { method, path } of operationsOf(await document())) {
      if (path === "/api/events" || path === "/healthz") continue;
      const reply = await call(method.toUpperCase(), path.replace("{id}", "nobody"));
      expect([
        method,
        path,
        [404, 405].includes(reply.status) && reply.text.includes("There is no route"),
      ]).toEqual([method, path, false]);
      expect(reply.status).not.toBe(405);
      expect(reply.status).toBeLessThan(500);
    }
  });

  test("is well-formed: version, unique operation ids, a description for every answer, path parameters declared", async () => {
    const api = await document();
    expect(api.openapi).toMatch(/^3\.1\.\d$/);
    expect(api.info).toMatchObject({ title: "Nightshift", version: "0.0.0-test" });
    const operations = operationsOf(api);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const parameters = (operation.parameters ?? []) as {
        name: string;
        in: string;
        required?: boolean;
        schema: Json;
      }[];
      const inPath = parameters.filter((one) => one.in === "path");
      expect(inPath.map(({ name }) => name)).toEqual(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      );
      expect(inPath.every(({ required }) => required === true)).toBe(true);
      expect(parameters.every(({ schema }) => typeof schema === "object")).toBe(true);
      const answers = Object.entries(operation.responses as Record<string, Json>);
      expect(answers.length).toBeGreaterThan(0);
      for (const [status, answer] of answers) {
        expect(status).toMatch(/^([2-5]\d\d|default)$/);
        expect("$ref" in answer || typeof answer.description === "string").toBe(true);
      }
    }
  });

  test("every reference leads somewhere inside it, and no schema is empty", async () => {
    const api = await document();
    const refs = [...refsIn(api)];
    expect(refs.length).toBeGreaterThan(20);
    for (const ref of refs) {
      expect(ref.startsWith("#/")).toBe(true);
      expect([ref, typeof resolve(api, ref)]).toEqual([ref, "object"]);
    }
    const { schemas } = api.components as { schemas: Record<string, Json> };
    for (const [name, schema] of Object.entries(schemas)) {
      expect([name, Object.keys(schema).length > 0]).toEqual([name, true]);
      expect(schema).not.toHaveProperty("$schema");
    }
    expect(schemas.Run).toMatchObject({ type: "object", additionalProperties: false });
    expect(resolve(api, "#/components/schemas/RunTree/properties/children")).toMatchObject({ type: "array" });
  });

  test("S5: says that everything but /healthz and the signed hooks needs the token", async () => {
    const api = await document();
    expect(api.security).toEqual([{ token: [] }]);
    const open = operationsOf(api).filter(({ operation }) => operation.security !== undefined);
    expect(open.map(({ path, operation }) => [path, operation.security])).toEqual([
      ["/healthz", []],
      ["/hooks/{name}", []],
    ]);
  });
});
