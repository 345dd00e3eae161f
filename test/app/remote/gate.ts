// An executor that begins when it is called and ends when the test says so.

import { type DefinedExecutor, defineExecutor } from "../../../src/orchestrate/executors/define-executor.ts";

export interface GatedCall {
  params: Readonly<Record<string, unknown>>;
  attempt: number;
  key: string;
  end(result: unknown): void;
  fail(message: string): void;
}

export interface Gate {
  executor: DefinedExecutor;
  calls: GatedCall[];
  whenCalled(count: number): Promise<GatedCall>;
}

export function manualGate(name: string, effects: "none" | "idempotent" | "external" = "external"): Gate {
  const calls: GatedCall[] = [];
  let wake = () => {};
  const executor = defineExecutor({
    ...{ name, effects },
    run: (params, { attempt, idempotencyKey, signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to stop")), { once: true });
        const fail = (message: string) => reject(new Error(message));
        calls.push({ params, attempt, key: idempotencyKey, end: resolve, fail });
        wake();
      }),
  });
  return {
    executor,
    calls,
    async whenCalled(count) {
      while (calls.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const call = calls[count - 1];
      if (!call) throw new Error("not called");
      return call;
    },
  };
}
