import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseOrchestratorConfig } from "../../src/records/orchestrator-config.ts";

const read = (text: string) => parseOrchestratorConfig(text, { file: "config.yaml" });

describe("the orchestrator's config", () => {
  test("W2: the seed's own file is read, and what W3 reads otherwise is said", async () => {
    const text = await readFile(join(import.meta.dirname, "../orchestrate/fixtures/config.yaml"), "utf8");

    expect(read(text)).toMatchObject({
      maxConcurrentTasks: 8,
      defaultTimeoutMs: 30_000,
      retry: { max: 3, backoff: 2, delay: "1s" },
      executors: {
        cv_detect: {
          module: "my_cv_module",
          function: "detect_objects",
          timeoutMs: 15_000,
          resources: { gpu: 1, gpuMemoryMb: 1_024 },
          version: "v2.1.0",
        },
      },
      queues: {
        high_priority: { priority: 10, concurrency: 3 },
        low_priority: { priority: 1, concurrency: 5 },
      },
      notes: ['Executor "cv_detect": memory_mb beside gpu is read as GPU memory (1024 MB).'],
    });
  });

  test("W3: an empty file has the seed's defaults", () => {
    expect(read("")).toMatchObject({
      maxConcurrentTasks: 8,
      defaultTimeoutMs: 30_000,
      maxTaskHistory: 1_000,
      resourceProbeMs: 10_000,
    });
  });

  test("a number in quotes, which the seed ignored silently, is refused with its place", () => {
    expect(() => read('orchestrator:\n  max_task_history: "1000"\n')).toThrow(
      'config.yaml:2:21: orchestrator.maxTaskHistory is a number in quotes; write 1000, not "1000"',
    );
  });

  test("remote executors and fallbacks are read in either form", () => {
    const config = read(
      "remote_executors: [{name: cv, url: 'http://127.0.0.1:1/execute', timeout: 15}]\nfallback_executors: {cv: cv_cpu}",
    );

    expect(config.remoteExecutors).toEqual([
      { name: "cv", url: "http://127.0.0.1:1/execute", timeoutMs: 15_000 },
    ]);
    expect(config.fallbackExecutors).toEqual({ cv: ["cv_cpu"] });
  });
});
