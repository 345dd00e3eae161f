// The longer lock: ten seconds in which nothing can be written.

import { test } from "vitest";
import { faultHome } from "../fault-home.ts";
import { lockedFor } from "../lock.ts";

test("L11: a database locked by another process for ten seconds delays completions and loses none", async () => {
  await lockedFor(await faultHome(), 10_000);
});

test("L5, L11: a lock longer than the lease costs no run: an expired claim nobody took is renewed", async () => {
  await lockedFor(await faultHome({ env: { NIGHTSHIFT_LEASE: "2s", NIGHTSHIFT_BEAT: "500ms" } }), 5_000);
});
