// Whether Python is here: tests of Python executors need the real one.

import { spawnSync } from "node:child_process";

let found: boolean | undefined;

/** True with python3 on PATH. CI installs it (.ci/run): there nothing may be skipped. */
export function hasPython(): boolean {
  found ??= spawnSync("python3", ["-c", ""], { stdio: "ignore" }).status === 0;
  if (!found && process.env.NIGHTSHIFT_TEST_REQUIRE_ALL) throw new Error("python3 is missing");
  return found;
}
