import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/records/config-document.ts";

const reading = (text: string) => readConfig(text, { file: "config.yaml", env: {} });
const read = (text: string) => reading(text).config;
const messageOf = (text: string) => {
  try {
    read(text);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "accepted";
};

describe("the orchestrator's config", () => {
  test("W2: the seed's own file is read, and what W3 reads otherwise is said", async () => {
    const text = await readFile(join(import.meta.dirname, "../orchestrate/fixtures/config.yaml"), "utf8");

    const { config, warnings } = reading(text);

    expect(config.orchestrator).toMatchObject({
      maxConcurrentTasks: 8,
      defaultTimeoutMs: 30_000,
      labels: [],
      retry: { max: 3, backoff: 2, delay: "1s" },
    });
    expect(config.executors).toMatchObject([
      {
        name: "cv_detect",
        work: { kind: "module", module: "my_cv_module", function: "detect_objects" },
        timeoutMs: 15_000,
        resources: { gpu: 1, gpuMemoryMb: 1_024 },
        version: "v2.1.0",
      },
    ]);
    expect(config.queues).toEqual([
      { name: "high_priority", priority: 10, width: 3, rate: undefined },
      { name: "low_priority", priority: 1, width: 5, rate: undefined },
    ]);
    expect(warnings).toEqual(['Executor "cv_detect": memory_mb beside gpu is read as GPU memory (1024 MB).']);
  });

  test("W3: an empty file has the seed's defaults", () => {
    expect(read("").orchestrator).toEqual({
      maxConcurrentTasks: 8,
      defaultTimeoutMs: 30_000,
      labels: [],
      retry: { max: 3, backoff: 2, delay: "1s" },
      maxTaskHistory: 1_000,
      resourceProbeMs: 10_000,
      healthMs: 30_000,
      reserve: { cpu: 0, memoryMb: 0, gpuMemoryMb: 0 },
    });
  });

  test("a number in quotes, which the seed ignored silently, is refused with its place", () => {
    expect(() => read('orchestrator:\n  max_task_history: "1000"\n')).toThrow(
      'config.yaml:2:21: orchestrator.maxTaskHistory is a number in quotes; write 1000, not "1000"',
    );
    expect(() => read('executors: {a: {script: a.sh, resources: {memory_mb: "64"}}}')).toThrow(
      'executors.a.resources.memoryMb is a number in quotes; write 64, not "64"',
    );
  });

  test("remote executors and fallbacks are read in either form", () => {
    const config = read(
      "remote_executors: [{name: cv, url: 'http://127.0.0.1:1/execute', timeout: 15, token: '${env:CV}'}]\nfallback_executors: {cv: cv_cpu}",
    );

    expect(config.remoteExecutors).toEqual([
      {
        name: "cv",
        url: "http://127.0.0.1:1/execute",
        token: "${env:CV}",
        timeoutMs: 15_000,
        healthMs: undefined,
      },
    ]);
    expect(config.fallbackExecutors).toEqual({ cv: ["cv_cpu"] });
  });

  test("W4: queues may have a rate, and shares beyond the ceiling are refused with their place", () => {
    expect(read("queues: {mail: {concurrency: 2, rate: {max: 10, per: 1m}}}").queues).toEqual([
      { name: "mail", priority: 0, width: 2, rate: { max: 10, perMs: 60_000 } },
    ]);
    expect(() => read("# mine\nqueues:\n  a: {concurrency: 6}\n  b: {concurrency: 3}\n")).toThrow(
      "config.yaml:2:1: the queues' concurrency adds up to 9, which is more than orchestrator.maxConcurrentTasks (8)",
    );
  });
});

describe("executors: of config.yaml", () => {
  test("every kind is read, snake_case included, and one name may have several registrations", () => {
    const { executors } = read(`
executors:
  cv:
    - {module: cv, function: gpu, resources: {gpu: 1, gpu_memory_mb: 4096}}
    - {module: cv, function: cpu, version: "2"}
  df: {script: df.sh, args: [--all], pass: environment, environment: docker:alpine, params: {fs_type: ext4}}
  say: {shell: "echo {{ params.text }}"}
  stock: {http: "http://erp.local/{sku}"}
  post: {http: {method: POST, url: "http://erp.local", headers: {x_key: a}, allow_private: [erp.local]}}
  sum: {model: fast}
  think: {agent: "Look at {{ params.file }}"}
  line: {workflow: {file: line.yaml, params: {line_id: A}}}
  plc: {mqtt: {topic: plc/in, response_topic: plc/out}}
  scale: {serial: {path: /dev/ttyUSB0, baud_rate: 9600}}
  tell: {deliver: telegram}
  erp_query: {extends: post, params: {url: x}, defaults: {method: GET}}
  far: {remote: true}
`);

    expect(executors.map(({ name, work }) => [name, work.kind])).toEqual([
      ["cv", "module"],
      ["cv", "module"],
      ["df", "script"],
      ["say", "shell"],
      ["stock", "http"],
      ["post", "http"],
      ["sum", "model"],
      ["think", "agent"],
      ["line", "workflow"],
      ["plc", "mqtt"],
      ["scale", "serial"],
      ["tell", "deliver"],
      ["erp_query", "extends"],
      ["far", "remote"],
    ]);
    expect(executors[2]).toMatchObject({
      work: { script: "df.sh", args: ["--all"], pass: "environment" },
      params: { fs_type: "ext4" },
      environment: "docker:alpine",
    });
    expect(executors[5]?.work).toMatchObject({ headers: { x_key: "a" }, allowPrivate: ["erp.local"] });
    expect(executors[9]?.work).toMatchObject({ responseTopic: "plc/out", qos: 1 });
  });

  test.each([
    ["executors: {a: {scirpt: x.sh}}", '1:17: unknown key "scirpt"; did you mean "script"?'],
    ["executors: {a: {timeout: 3}}", "executors.a does not say what to do"],
    ["executors: {a: {script: x.sh, shell: x}}", "executors.a has script and shell; keep one of them"],
    ["executors: {a: {http: 'http://x', args: [x]}}", "has args, which script executors know only"],
    ["executors: {a: {http: {url: x, method: LOOK}}}", "executors.a.http.method must be one of GET"],
    ["executors: {a: [{script: x.sh, tiemout: 3}]}", 'unknown key "tiemout"; did you mean "timeout"?'],
    ["queues: {a: {concurency: 1}}", 'unknown key "concurency"; did you mean "concurrency"?'],
  ])("%s is refused: %s", (text, message) => {
    expect(messageOf(text)).toContain(message);
  });
});
