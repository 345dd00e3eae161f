// A call as an executor gets it, for tests of this room.

import type { ExecutorCall } from "../../../src/records/executor.ts";
import { makeContext, realClock, type TestContext } from "../../execute/room.ts";

export function callOf(
  params: Record<string, unknown>,
  changes: Partial<ExecutorCall> = {},
): ExecutorCall & { ctx: TestContext } {
  const ctx = (changes.ctx as TestContext | undefined) ?? makeContext();
  return {
    params,
    env: {},
    workdir: undefined,
    environment: undefined,
    timezone: "UTC",
    timeoutMs: 0,
    clock: realClock,
    ...changes,
    ctx,
  };
}
