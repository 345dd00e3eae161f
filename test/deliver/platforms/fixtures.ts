// A platform's own server on loopback, and the adapter that speaks to it.

import { makeAdapters, type PlatformSettings } from "../../../src/deliver/adapters/index.ts";
import { makeAllowAddress } from "../../../src/kernel/private-addresses.ts";
import type { Adapter } from "../../../src/records/delivery.ts";
import { manualClock } from "../../support/clock.ts";
import { START } from "../fixtures.ts";

export { requestTo } from "../fixtures.ts";

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
