// Rules of the end of an environment: nothing of it is left, and nothing goes on with it.

import { expect, test } from "vitest";
import { exec, never, uniqueSeconds, untilInside } from "./asking.ts";
import type { Harness } from "./contract.ts";

export function closingRules({ open, leftovers, has }: Harness): void {
  test("dispose ends what runs inside, removes what was made, and can be said twice", async () => {
    const { environment } = await open();
    const seconds = uniqueSeconds();
    await exec(environment, `sleep ${seconds} & setsid sleep ${seconds} >/dev/null 2>&1 & export A=1`);
    const spawned = await environment.spawn(`sleep ${seconds}`, { signal: never });
    const running = exec(environment, `sleep ${seconds}`, { signal: never }).catch((error: unknown) => error);
    if (has.sharedProcesses) await untilInside(environment, seconds, 4);

    expect(await Promise.all([environment.dispose(), environment.dispose()])).toEqual([
      { survivors: 0 },
      { survivors: 0 },
    ]);

    await spawned.exited;
    await running;
    expect(await leftovers()).toEqual([]);
    await expect(exec(environment, "true")).rejects.toMatchObject({ code: "environment.unusable" });
  });
}
