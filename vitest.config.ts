import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/faults/long/**", "**/node_modules/**"],
    pool: "forks",
    isolate: false,
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    setupFiles: ["test/support/leaks.ts"],
    globalSetup: ["test/support/global-setup.ts"],
  },
});
