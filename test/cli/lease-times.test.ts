// NIGHTSHIFT_LEASE and NIGHTSHIFT_BEAT: read, defaulted, and refused where they would cost claims.

import { expect, test } from "vitest";
import { leaseTimes } from "../../src/cli/lease-times.ts";
import { isFault } from "../../src/kernel/errors.ts";

test("L4: without the variables nothing is changed; with a lease alone the beat is a quarter of it", () => {
  expect(leaseTimes({})).toEqual({});
  expect(leaseTimes({ NIGHTSHIFT_LEASE: "2s" })).toEqual({ leaseMs: 2_000, beatMs: 500 });
  expect(leaseTimes({ NIGHTSHIFT_LEASE: "1m", NIGHTSHIFT_BEAT: "30s" })).toEqual({
    leaseMs: 60_000,
    beatMs: 30_000,
  });
});

test.for([
  ["a word", { NIGHTSHIFT_LEASE: "soon" }, "NIGHTSHIFT_LEASE"],
  ["a bare number", { NIGHTSHIFT_BEAT: "5" }, "NIGHTSHIFT_BEAT"],
  ["a lease too short for a busy machine", { NIGHTSHIFT_LEASE: "10ms" }, "at least 100ms"],
  ["a beat longer than half the lease", { NIGHTSHIFT_LEASE: "1s", NIGHTSHIFT_BEAT: "600ms" }, "too long"],
  ["a beat longer than half the default lease", { NIGHTSHIFT_BEAT: "40s" }, "too long"],
] as const)("%s is refused and the variable is named", ([, env, message]) => {
  try {
    leaseTimes(env);
    expect.unreachable("it was accepted");
  } catch (error) {
    expect(isFault(error) && error.code).toBe("input.usage");
    expect((error as Error).message).toContain(message);
  }
});
