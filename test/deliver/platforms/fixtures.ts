// A platform's own server on loopback, and the adapter that speaks to it.

import { makeAdapters, type PlatformSettings } from "../../../src/deliver/adapters/index.ts";
import { makeAllowAddress } from "../../../src/kernel/private-addresses.ts";
import type { Adapter, SendRequest, Target } from "../../../src/records/delivery.ts";
import { manualClock } from "../../support/clock.ts";
import { START } from "../fixtures.ts";

export const clock = manualClock(START);
export const never = new AbortController().signal;

/** The adapter of one platform with its settings; 127.0.0.1 counts as allowed. */
export function platform<Name extends keyof PlatformSettings>(
  name: Name,
  config: Extract<NonNullable<PlatformSettings[Name]>, { kind: "ready" }>["config"],
): Adapter {
  const adapters = makeAdapters({
    clock,
    local: { home: "/nonexistent", outputFileOf: () => Promise.resolve(undefined) },
    platforms: { [name]: { kind: "ready", config } },
    reach: { allow: makeAllowAddress(["127.0.0.1"]) },
    command: { env: { PATH: process.env.PATH ?? "" } },
  });
  return adapters.get(name)!;
}

export function requestTo(target: Omit<Target, "text">, changes: Partial<SendRequest> = {}): SendRequest {
  return {
    target: { text: `${target.platform}:${target.chat ?? target.url ?? ""}`, ...target },
    body: "**disk** is at 91 % & rising",
    idempotencyKey: "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2",
    kind: "result",
    jobId: "disk-watch",
    runId: "run-1",
    createdAt: START,
    attempt: 1,
    ...changes,
  };
}
