// One call: params checked, the attempt made, its result checked.

import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { isFault } from "../../../src/kernel/errors.ts";
import { bindParams } from "../../../src/orchestrate/executors/bind-params.ts";
import { callExecutor } from "../../../src/orchestrate/executors/call-executor.ts";
import { defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";
import { failureInResult } from "../../../src/orchestrate/executors/failure-in-result.ts";
import {
  executorOfDefinition,
  executorOfFunction,
} from "../../../src/orchestrate/executors/from-definition.ts";
import { makeContext } from "../../execute/room.ts";
import { callOf } from "./call.ts";

const register = (definition: Parameters<typeof executorOfDefinition>[0]) =>
  executorOfDefinition(definition, { source: "test", notes: [] });

const doubling = () =>
  register(
    defineExecutor({
      name: "double",
      input: {
        type: "object",
        properties: { n: { type: "number" }, times: { type: "integer", default: 2 } },
        required: ["n"],
        additionalProperties: false,
      },
      output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      run: ({ n, times }) => ({ n: Number(n) * Number(times) }),
    }),
  );

describe("a call", () => {
  test("params get their defaults, the result comes back as it is", async () => {
    expect(await callExecutor(await doubling(), callOf({ n: 4 }))).toEqual({
      state: "succeeded",
      output: '{"n":8}',
      isSilent: false,
      result: { n: 8 },
    });
  });

  test("law 8: params that do not fit are refused before anything begins", async () => {
    const begun: string[] = [];
    const ctx = makeContext(() => begun.push("begun") > 0);

    const outcome = await callExecutor(await doubling(), callOf({ n: "4", tiems: 1 }, { ctx }));

    expect(outcome).toEqual({
      state: "failed",
      error: {
        code: "params",
        message:
          'double: n must be number, not string; write 4, not "4". unknown parameter "tiems"; did you mean "times"?',
      },
    });
    expect(begun).toEqual([]);
  });

  test("a result that breaks its contract fails the attempt, with what it said", async () => {
    const executor = await register(
      defineExecutor({
        name: "odd",
        output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
        run: () => ({ m: 1 }) as never,
      }),
    );

    expect(await callExecutor(executor, callOf({}))).toEqual({
      state: "failed",
      output: '{"m":1}',
      error: { code: "schema", message: "the result of odd breaks its contract: n is missing" },
    });
  });

  test("an executor that rejects breaks its port: that is an outcome too", async () => {
    const broken = { ...(await doubling()), run: () => Promise.reject(new Error("a bug")) };

    expect(await callExecutor(broken, callOf({ n: 1 }))).toEqual({
      state: "failed",
      error: { code: "internal", message: "a bug" },
    });
  });

  test.each([
    [{ status: "error", error: "no route" }, "no route"],
    [{ status: "error", message: "down" }, "down"],
    [{ status: "error" }, "its result says status: error"],
    [{ status: "warning" }, undefined],
    ["error", undefined],
  ])("status: error in a result is a failure: %j", (result, message) => {
    const outcome = { state: "succeeded" as const, output: "x", isSilent: false, result };

    expect(failureInResult(outcome)?.error.message).toBe(message);
  });
});

describe("a definition", () => {
  test("a zod schema parses the params, and is the contract's JSON Schema", async () => {
    const executor = await register(
      defineExecutor({
        name: "since",
        input: z.object({
          day: z.pipe(
            z.string(),
            z.transform((text) => new Date(text)),
          ),
          note: z.optional(z.string()),
        }),
        run: ({ day }) => day.getUTCFullYear(),
      }),
    );

    expect(executor.contract.input).toMatchObject({ type: "object", required: ["day"] });
    expect(await callExecutor(executor, callOf({ day: "2026-01-01" }))).toMatchObject({ result: 2026 });
    expect(await callExecutor(executor, callOf({}))).toMatchObject({ error: { code: "params" } });
  });

  test("what only the schema library can judge is refused before anything begins, too", async () => {
    const ctx = makeContext(() => {
      throw new Error("it began");
    });
    const executor = await register(
      defineExecutor({
        name: "mail",
        input: z.object({ to: z.email() }),
        run: () => "sent",
      }),
    );

    expect(await callExecutor(executor, callOf({ to: "nobody" }, { ctx }))).toMatchObject({
      error: { code: "params", message: expect.stringContaining("mail: to: ") },
    });
  });

  test("a function gets its tools: live log, signs of life, run, attempt, key and signal", async () => {
    const ctx = makeContext();
    const executor = await register(
      defineExecutor({
        name: "tools",
        run: (_, { log, emit, touch, run, attempt, idempotencyKey, signal }) => {
          log("one line");
          emit("progress", { done: 1 });
          touch("working");
          return { id: run.id, attempt, idempotencyKey, aborted: signal.aborted };
        },
      }),
    );

    const { run } = ctx;
    expect(await callExecutor(executor, callOf({}, { ctx }))).toMatchObject({
      result: { id: run.id, attempt: run.attempt, idempotencyKey: run.idempotencyKey, aborted: false },
    });
    expect(ctx.events).toEqual([
      { kind: "stdout", data: { text: "one line" } },
      { kind: "progress", data: { done: 1 } },
    ]);
    expect(ctx.touched).toEqual(["working"]);
  });

  test.each([
    ["an exception", () => Promise.reject(new Error("no")), { code: "exception", message: "no" }],
    [
      "one that says it is unavailable",
      () => Promise.reject(Object.assign(new Error("busy"), { code: "unavailable" })),
      { code: "unavailable", message: "busy" },
    ],
    [
      "a result that is no JSON",
      () => 10n,
      { code: "result", message: expect.stringContaining("cannot be kept as JSON") },
    ],
  ])("%s fails the attempt", async (_, run, error) => {
    const executor = await register(defineExecutor({ name: "x", run }));

    expect(await callExecutor(executor, callOf({}))).toEqual({ state: "failed", error });
  });

  test("a plain function of a program keeps its form: {params, ctx}", async () => {
    const executor = executorOfFunction(
      "plain",
      ({ params, ctx }) => `${String(params.a)} ${ctx.run.attempt}`,
    );

    expect(await callExecutor(executor, callOf({ a: "x" }))).toMatchObject({ output: "x 1" });
  });

  const run = () => 1;
  test.each<[object, string]>([
    [{ name: "a b", run }, "is no name of an executor"],
    [{ name: "a", timeout: "60", run }, 'timeout is a number in quotes; write 60, not "60"'],
    [{ name: "a", tiemout: 60, run }, 'unknown key "tiemout"; did you mean "timeout"?'],
    [{ name: "a", input: { type: "objekt" }, run }, 'input.type "objekt" is no type; did you mean "object"?'],
    [{ name: "a", input: { type: "array" }, run }, "input describes a array"],
    [{ name: "a", output: { required: "n" }, run }, "output.required is no list of names"],
    [{ name: "a", input: { properties: { n: { enum: [] } } }, run }, "input.n.enum is no list of values"],
  ])("%j is refused at registration", async (definition, message) => {
    const fault = await register(definition as never).catch((error: unknown) => error);

    expect(isFault(fault) && fault.code).toBe("executor.invalid");
    expect(String(fault)).toContain(message);
  });
});

describe("extends", () => {
  const base = () =>
    register(
      defineExecutor({
        name: "generic_api_call",
        input: {
          type: "object",
          properties: { url: { type: "string" }, method: { type: "string" }, payload: { type: "object" } },
          required: ["url", "method"],
          additionalProperties: false,
        },
        timeout: 10,
        run: (params) => params,
      }),
    );
  const bound = async (params: Record<string, unknown>, defaults: Record<string, unknown> = {}) =>
    bindParams(await base(), { ...NOTHING_SAID, name: "erp_query", source: "test", params, defaults });

  test("seed 003 §2.3: bound params are part of the new executor, and its input shrinks by them", async () => {
    const executor = await bound({ url: "http://erp.local/api/inventory", method: "GET" });

    expect(executor.contract).toMatchObject({ timeoutMs: 10_000, input: { required: [] } });
    expect(Object.keys(executor.contract.input?.properties ?? {})).toEqual(["payload"]);
    expect(await callExecutor(executor, callOf({ payload: { sku: 1 } }))).toMatchObject({
      result: { url: "http://erp.local/api/inventory", method: "GET", payload: { sku: 1 } },
    });
  });

  test("a bound param cannot be given another value; a default can", async () => {
    const executor = await bound({ url: "http://a" }, { method: "GET" });

    expect(await callExecutor(executor, callOf({ url: "http://b" }))).toMatchObject({
      error: { code: "params" },
    });
    expect(await callExecutor(executor, callOf({}))).toMatchObject({ result: { method: "GET" } });
    expect(await callExecutor(executor, callOf({ method: "POST" }))).toMatchObject({
      result: { method: "POST" },
    });
  });

  test("what its base takes without limits stays so, but for what is bound", async () => {
    const open = executorOfFunction("open", ({ params }) => params);
    const executor = bindParams(open, {
      ...NOTHING_SAID,
      name: "x",
      source: "test",
      params: { a: 1 },
      defaults: {},
    });

    expect(await callExecutor(executor, callOf({ b: 2 }))).toMatchObject({ result: { a: 1, b: 2 } });
    expect(await callExecutor(executor, callOf({ a: 2 }))).toMatchObject({ error: { code: "params" } });
  });

  test("a param that its base does not know is refused at registration", async () => {
    await expect(bound({ ulr: "http://a" })).rejects.toThrow(
      'erp_query extends generic_api_call: unknown parameter "ulr"; did you mean "url"?',
    );
  });
});

const NOTHING_SAID = {
  version: undefined,
  description: undefined,
  timeoutMs: undefined,
  retry: undefined,
  resources: undefined,
  effects: undefined,
};
