// Rules of time-outs and interrupts: partial output stays, and inside nothing goes on running (hermes#84967).

import { expect, test } from "vitest";
import { countInside, exec, never, textOf, uniqueSeconds } from "./asking.ts";
import type { Bench, Harness } from "./contract.ts";

export function endingRules(get: () => Bench, { has }: Harness): void {
  const trees: [string, (seconds: string) => string][] = [
    ["a plain command", (seconds) => `echo partial; sleep ${seconds}`],
    [
      "a tree with children in the background",
      (seconds) => `echo partial; sleep ${seconds} & sh -c 'sleep ${seconds} & sleep ${seconds}'`,
    ],
    ["one that ignores TERM", (seconds) => `trap '' TERM; echo partial; while :; do sleep ${seconds}; done`],
    [
      "one that left its session",
      (seconds) => `echo partial; setsid sh -c 'sleep ${seconds}' & sleep ${seconds}`,
    ],
  ];
  test.each(trees)(
    "a time-out of %s: 124, what was written so far, and nothing left inside",
    async (_, tree) => {
      const { environment } = get();
      const seconds = uniqueSeconds();
      const result = await exec(environment, tree(seconds), { timeoutMs: 500 });
      expect(result).toMatchObject({ exitCode: 124, timedOut: true, interrupted: false });
      expect(textOf(result.stdout)).toBe("partial\n");
      if (has.sharedProcesses) expect(await countInside(environment, seconds)).toBe(0);
    },
  );

  test("an interrupt: 130, what was written so far, and nothing left inside", async () => {
    const { environment } = get();
    const seconds = uniqueSeconds();
    const controller = new AbortController();
    const result = await exec(environment, `echo partial; echo warned >&2; sleep ${seconds}`, {
      signal: controller.signal,
      onOutput: (stream) => {
        if (stream === "stderr") controller.abort(new Error("enough"));
      },
    });
    expect(result).toMatchObject({ exitCode: 130, timedOut: false, interrupted: true });
    expect([textOf(result.stdout), textOf(result.stderr)]).toEqual(["partial\n", "warned\n"]);
    if (has.sharedProcesses) expect(await countInside(environment, seconds)).toBe(0);
  });

  test("an interrupt before the start: nothing begins", async () => {
    const { environment } = get();
    const result = await exec(environment, "touch /tmp/never-began", { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ exitCode: 130, interrupted: true });
    expect((await exec(environment, "test -e /tmp/never-began")).exitCode).toBe(1);
  });

  test("a time-out of one call leaves the calls beside it alone", async () => {
    const { environment } = get();
    const [ended, other] = await Promise.all([
      exec(environment, "sleep 60", { timeoutMs: 200 }),
      exec(environment, "sleep 1; echo whole"),
    ]);
    expect([ended.exitCode, other.exitCode, textOf(other.stdout)]).toEqual([124, 0, "whole\n"]);
  });

  test("a time-out while the pipe is flooded: ended all the same, the newest output kept", async () => {
    const result = await exec(get().environment, "yes flooded", {
      timeoutMs: 500,
      maxBytes: 1_000,
      signal: never,
    });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, truncated: true });
    expect(result.stdout.length).toBe(1_000);
  });
}
