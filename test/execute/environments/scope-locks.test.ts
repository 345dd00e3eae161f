// Whose turn it is in a shared environment.

import { describe, expect, test } from "vitest";
import { makeScopeLocks, scopeKey } from "../../../src/execute/environments/scope-locks.ts";
import type { EnvironmentSpec } from "../../../src/records/environment-spec.ts";

const never = new AbortController().signal;
const box: EnvironmentSpec = { backend: "docker", image: "x", scope: "builds" };
const keyOf = (changes: Partial<Parameters<typeof scopeKey>[0]> = {}) =>
  scopeKey({ home: "/a", spec: box, jobId: "j", ...changes });

describe("W6: what tells shared environments apart", () => {
  test("home, backend, spec and scope; not the order of the spec's keys, nor the job of a NAME", () => {
    expect(keyOf({ spec: { scope: "builds", image: "x", backend: "docker" }, jobId: "k" })).toBe(keyOf());
    const others = [
      keyOf({ home: "/b" }),
      keyOf({ spec: { ...box, image: "y" } }),
      keyOf({ spec: { ...box, scope: "others" } }),
      keyOf({ spec: { ...box, scope: "job" } }),
      keyOf({ spec: { backend: "ssh", host: "x", scope: "builds" } }),
    ];
    expect(new Set([keyOf(), ...others]).size).toBe(6);
  });

  test("scope job is one for each job; scope run, and a run without a job, have none", () => {
    const spec: EnvironmentSpec = { ...box, scope: "job" };
    expect(keyOf({ spec, jobId: "j" })).not.toBe(keyOf({ spec, jobId: "k" }));
    expect(keyOf({ spec, jobId: undefined })).toBeUndefined();
    expect(keyOf({ spec: { backend: "local" } })).toBeUndefined();
    expect(keyOf({ spec: { ...box, scope: "run" } })).toBeUndefined();
  });
});

describe("W6: a busy one serialises", () => {
  test("they have it in the order they came, one at a time; another key waits for nobody", async () => {
    const locks = makeScopeLocks();
    const order: string[] = [];
    const first = await locks.take("k", never);
    const rest = ["b", "c"].map(async (name) => {
      const release = await locks.take("k", never);
      order.push(name);
      release();
    });
    (await locks.take("another", never))();
    (await locks.take(undefined, never))();
    order.push("first goes");
    first();
    await Promise.all(rest);
    expect(order).toEqual(["first goes", "b", "c"]);
  });

  test("one that is cancelled while it waits leaves the line without letting those behind it in early", async () => {
    const locks = makeScopeLocks();
    const first = await locks.take("k", never);
    const cancelled = new AbortController();
    const second = locks.take("k", cancelled.signal);
    let hasThird = false;
    const third = locks.take("k", never).then((release) => {
      hasThird = true;
      release();
    });
    cancelled.abort(new Error("cancelled"));
    await expect(second).rejects.toThrow("cancelled");
    expect(hasThird).toBe(false);
    first();
    await third;
    await expect(locks.take("k", cancelled.signal)).rejects.toThrow("cancelled");
  });
});
