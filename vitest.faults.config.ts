// The long fault-injection run: `npm run faults`. One file at a time, so that load comes from the test that wants it.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/faults/long/*.test.ts"],
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 30 * 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    setupFiles: ["test/support/leaks.ts"],
    globalSetup: ["test/support/global-setup.ts"],
  },
});
