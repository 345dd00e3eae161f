// A test that needs something absent skips by name. Where NIGHTSHIFT_TEST_REQUIRE_ALL is set (CI), nothing may be absent.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasBubblewrap } from "../contract/environment/local-harness.ts";
import { whyNoEngine } from "../support/docker-engine.ts";
import { whyNoMosquitto } from "../support/mosquitto.ts";
import { hasPostgres } from "../support/postgres.ts";
import { whyNoServer } from "../support/ssh-server.ts";

const isDemanding = process.env.NIGHTSHIFT_TEST_REQUIRE_ALL === "1";

/** Whether a program can be started at all. */
function canRun(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!isDemanding)("CI has what the tests would otherwise skip for", () => {
  expect({
    postgres: hasPostgres,
    git: canRun("git", ["--version"]),
    unshare: canRun("unshare", ["--version"]),
    mount: canRun("mount", ["--version"]),
    checkout: existsSync(join(process.cwd(), ".git")),
    bubblewrap: hasBubblewrap(),
    whyNoEngine: whyNoEngine(),
    whyNoServer: whyNoServer(),
    whyNoMosquitto: whyNoMosquitto(),
  }).toEqual({
    postgres: true,
    git: true,
    unshare: true,
    mount: true,
    checkout: true,
    bubblewrap: true,
    whyNoEngine: undefined,
    whyNoServer: undefined,
    whyNoMosquitto: undefined,
  });
});
