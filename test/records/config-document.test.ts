import { describe, expect, test } from "vitest";
import { type Fault, isFault } from "../../src/kernel/errors.ts";
import { readConfig } from "../../src/records/config-document.ts";
import { parseEnvFile } from "../../src/records/config-env.ts";
import { jsonSchemaOfConfig, jsonSchemaOfJob } from "../../src/records/job-json-schema.ts";

const read = (text: string | undefined, env: Record<string, string> = {}, dotEnv?: string) =>
  readConfig(text, {
    file: "config.yaml",
    env,
    envFile: dotEnv === undefined ? undefined : { text: dotEnv, mode: 0o600 },
  });

function faultOf(action: () => unknown): Fault {
  try {
    action();
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
  throw new Error("no fault");
}

describe("config.yaml", () => {
  test("no file, an empty one and one of comments give the documented defaults", () => {
    for (const text of [undefined, "", "# nothing yet\n"])
      expect(read(text).config).toEqual({
        timezone: undefined,
        defaults: {},
        deliver: { webhooks: {}, allowPrivate: [], homes: {}, mirror: [], alerts: {}, platforms: {} },
        http: { port: 4747, bind: "127.0.0.1", allowRunsToSchedule: false, hooks: {}, nodes: {} },
        limits: {
          maxParallelRuns: undefined,
          outputBytes: 1_000_000,
          promptBytes: 200_000,
          mediaBytes: 50_000_000,
          quarantine: true,
        },
        retention: { runsPerJob: 1_000, outputFiles: 50, events: 100_000, messageDays: 30 },
        redact: { patterns: [] },
        logs: { level: "info" },
        agentDefaults: {},
        models: {
          ...{ default: undefined, cheap: undefined, fallback: [], named: {} },
          ...{ relay: true, record: false },
        },
        environments: {},
        orchestrator: {
          maxConcurrentTasks: 8,
          defaultTimeoutMs: 30_000,
          retry: { max: 3, backoff: 2, delay: "1s" },
          maxTaskHistory: 1_000,
          resourceProbeMs: 10_000,
          healthMs: 30_000,
          reserve: { cpu: 0, memoryMb: 0, gpuMemoryMb: 0 },
          labels: [],
        },
        queues: [],
        executors: [],
        remoteExecutors: [],
        fallbackExecutors: {},
        mcpServers: {},
      });
  });

  test("snake_case is read, also below names of one's own, which keep their spelling; shorthands are written out", () => {
    const { config } = read(`
timezone: Europe/Berlin
defaults: {catch_up: latest, deliver: telegram, on_failure: none, retry: 2}
limits: {max_parallel_runs: 3}
fallback_executors: {cv_gpu: cv_cpu}
queues: {high_priority: {concurrency: 2}}
models: {named: {my_model: {provider: openai, id: x, base_url: "https://gpu.example.org"}}}
deliver:
  webhooks:
    my_hook: {url: "https://example.org/x", secret: "\${env:HOOK_SECRET}"}
  allow_private: [10.0.0.5]
  homes: {telegram: "-1001"}
`);

    expect(config).toMatchObject({
      timezone: "Europe/Berlin",
      defaults: { catchUp: "latest", deliver: ["telegram"], onFailure: [], retry: { max: 2 } },
      limits: { maxParallelRuns: 3 },
      fallbackExecutors: { cv_gpu: ["cv_cpu"] },
      queues: [{ name: "high_priority" }],
      models: { named: { my_model: { baseUrl: "https://gpu.example.org" } } },
      deliver: {
        webhooks: { my_hook: { url: "https://example.org/x", secret: "${env:HOOK_SECRET}" } },
        allowPrivate: ["10.0.0.5"],
        homes: { telegram: "-1001" },
      },
    });
  });

  test.each([
    ["an unknown key", "htpp: {port: 1}", '1:1: unknown key "htpp"; did you mean "http"?'],
    ["an unknown key inside", "http: {prt: 1}", '1:8: unknown key "prt"; did you mean "port"?'],
    [
      "a number in quotes",
      'http: {port: "4747"}',
      '1:14: http.port is a number in quotes; write 4747, not "4747"',
    ],
    ["a port beyond 65535", "http: {port: 70000}", "http.port is too large; write at most 65535"],
    ["a concern that is no map", "queues: [a]", "1:9: queues must be a map, not a list"],
    [
      "a secret in clear text",
      "deliver: {webhooks: {a: {url: x, secret: hunter2}}}",
      "secret is no reference; write ${env:NAME}",
    ],
    ["a pattern that is no regular expression", 'redact: {patterns: ["("]}', "is no regular expression"],
    ["YAML that cannot be read", "http: {port: 1", "config.yaml:1:"],
    ["no map at all", "- a", "1:1: the document must be a map, not a list"],
  ])("%s is refused with its place", (_, text, message) => {
    const fault = faultOf(() => read(text));

    expect(fault.code).toBe("config.invalid");
    expect(fault.message).toContain(`config.yaml:`);
    expect(fault.message).toContain(message);
    expect(fault.message).not.toContain("hunter2");
  });

  test("a reference is resolved when used, the process before .env; a missing one is an error only then", () => {
    const reading = read(
      "deliver: {webhooks: {a: {url: '${env:GONE}'}}}",
      { A: "process" },
      "A=file\nB=file\n",
    );

    expect(reading.resolve("x-${env:A}-${env:B}")).toBe("x-process-file");
    const fault = faultOf(() => reading.resolve(reading.config.deliver.webhooks.a?.url ?? ""));
    expect(fault).toMatchObject({ code: "config.invalid", details: { variable: "GONE" } });
    expect(fault.message).toContain("config.yaml refers to the variable GONE, which is not set");
  });

  test("values that must leave no exit: secret names of .env and environment, and whatever is referenced", () => {
    const reading = read(
      "executors: {x: {http: {url: 'https://example.org', headers: {x: '${env:PLAIN}'}}}}",
      { API_KEY: "k1", HOME: "/root" },
      "PLAIN=p1\nDB_PASSWORD=d1\nCOLOR=red\n",
    );

    expect(reading.secrets().sort()).toEqual(["d1", "k1", "p1"]);
  });
});

describe(".env", () => {
  test("comments, export, quotes, escapes and values over several lines are read; nothing is expanded", () => {
    const { values, warnings } = parseEnvFile({
      text: '\uFEFF# mine\nA=1 # one\r\nexport B = two\nC=\'a # b $A\'\nD="x\\ny"\nE="-----BEGIN\nkey\n-----END"\nF=a#b\nG=\nH=\'open\n',
      mode: 0o600,
    });

    expect(values).toEqual({
      A: "1",
      B: "two",
      C: "a # b $A",
      D: "x\ny",
      E: "-----BEGIN\nkey\n-----END",
      F: "a#b",
      G: "",
      H: "'open",
    });
    expect(warnings).toEqual([]);
  });

  test("a line that is no assignment is named by number only, never by its content", () => {
    expect(parseEnvFile({ text: "A=1\nsk-very-secret\n" }).warnings).toEqual([
      ".env line 2 is not NAME=value and was left out.",
    ]);
  });

  test("a file that others can read is a warning", () => {
    expect(parseEnvFile({ text: "", mode: 0o644 }).warnings).toEqual([
      ".env can be read by others (mode 644); run chmod 600 on it.",
    ]);
  });
});

describe("the JSON Schemas for editors", () => {
  test("they list exactly the keys the codecs read, with their shorthands and descriptions", () => {
    const job = jsonSchemaOfJob() as {
      properties: Record<string, { description?: string; anyOf?: unknown }>;
      required: string[];
    };

    expect(Object.keys(job.properties)).toContain("catchUp");
    expect(job.required).toEqual(["run"]);
    expect(job).toMatchObject({ additionalProperties: false, title: "Nightshift job" });
    expect(Object.values(job.properties).filter((property) => !property.description)).toEqual([]);
    expect(Object.keys((jsonSchemaOfConfig() as typeof job).properties)).toHaveLength(16);
  });

  test("a schema is plain JSON, so that the file an editor reads says the same", () => {
    expect(JSON.parse(JSON.stringify(jsonSchemaOfJob()))).toEqual(jsonSchemaOfJob());
  });
});
