import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/faults/long/**", "**/node_modules/**"],
    pool: "forks",
    isolate: false,
    // One more than CI's cores: much of the suite waits for servers, containers and disks.
    maxWorkers: 3,
    // Only against what hangs: a busy machine may be five times as slow.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    setupFiles: ["test/support/leaks.ts"],
    globalSetup: ["test/support/global-setup.ts"],
  },
});
