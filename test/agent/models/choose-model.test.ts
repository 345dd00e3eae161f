// From a name to models that can be asked.

import { describe, expect, test } from "vitest";
import { chooseCheapModels, chooseModels, type ModelChoice } from "../../../src/agent/models/choose-model.ts";
import { findLocalModels } from "../../../src/agent/models/find-local-models.ts";
import { sayFault } from "../../../src/kernel/errors.ts";
import { type ModelConfig, type ModelsInput, modelsOf } from "../../../src/records/models-config.ts";
import { manualClock } from "../../support/clock.ts";
import { startModelServer } from "../../support/model-server.ts";
import { START } from "./ports.ts";

const own: ModelConfig = { provider: "openai-compatible", id: "m", baseUrl: "http://127.0.0.1:9/v1" };

const choice = (input: ModelsInput, more: Partial<ModelChoice> = {}): ModelChoice => ({
  models: modelsOf(input),
  variable: () => undefined,
  ...more,
});

const keys = (variables: Record<string, string>) => ({ variable: (name: string) => variables[name] });

describe("U4: a model is a configured name, or spelled out", () => {
  test("without a name the default is asked, then the fallback in order", () => {
    const named = { main: own, spare: { ...own, id: "s" }, last: { ...own, id: "l" } };
    const chain = chooseModels(choice({ default: "main", fallback: ["last", "main", "spare"], named }));
    expect(chain.first).toEqual({ name: "main", config: own, baseUrl: own.baseUrl, key: undefined });
    expect(chain.fallback.map(({ name }) => name)).toEqual(["last", "spare"]);
  });

  test("a job's named model keeps the fallback; a spelled-out one has none", () => {
    const input = { default: "main", fallback: ["spare"], named: { main: own, spare: own, big: own } };
    expect(chooseModels(choice(input, { asked: "big" })).fallback).toHaveLength(1);
    const chain = chooseModels(choice(input, { asked: { provider: "ollama", id: "qwen" } }));
    expect(chain).toMatchObject({
      first: { name: "ollama/qwen", baseUrl: "http://127.0.0.1:11434/v1", key: undefined },
      fallback: [],
    });
  });

  test("a fallback that has no key is left out, and named", () => {
    const named = { main: own, spare: { provider: "openai" as const, id: "gpt" } };
    const chain = chooseModels(choice({ default: "main", fallback: ["spare"], named }));
    expect(chain.fallback).toEqual([]);
    expect(chain.left).toEqual([{ name: "spare", why: expect.stringContaining("OPENAI_API_KEY") }]);
  });

  test("a job's effort goes over the model's; the cheap model keeps its own", () => {
    const named = { main: own, small: { ...own, reasoningEffort: "none" as const } };
    const asked = choice({ default: "main", cheap: "small", named }, { reasoningEffort: "high" });
    expect(chooseModels(asked).first.config.reasoningEffort).toBe("high");
    expect(chooseCheapModels(asked).first).toMatchObject({
      name: "small",
      config: { reasoningEffort: "none" },
    });
    expect(chooseCheapModels(choice({ named: { main: own } })).first.name).toBe("main");
  });

  test.each([
    ["mian", "main", "Did you mean"],
    ["constructor", "main", "Use one of main"],
  ])("an unknown name (%s) is refused, with the nearest known one", (asked, known, hint) => {
    const refuse = () => chooseModels(choice({ named: { [known]: own } }, { asked }));
    expect(refuse).toThrow(
      expect.objectContaining({ code: "model.unknown", hint: expect.stringContaining(hint) }),
    );
  });

  test("an unknown provider is refused with the nearest one", () => {
    expect(() => chooseModels(choice({}, { asked: { provider: "antropic", id: "x" } }))).toThrow(
      expect.objectContaining({ code: "model.unknown", hint: 'Did you mean "anthropic"?' }),
    );
  });

  test("an endpoint without an address is refused", () => {
    expect(() =>
      chooseModels(choice({ named: { main: { provider: "openai-compatible", id: "m" } } })),
    ).toThrow(expect.objectContaining({ code: "model.unknown", hint: expect.stringContaining("baseUrl") }));
  });

  test("with nothing configured the hint is a config that works", () => {
    const error = (() => {
      try {
        return chooseModels(choice({}));
      } catch (thrown) {
        return thrown as { message: string; hint: string };
      }
    })();
    expect(error).toMatchObject({ code: "model.unknown" });
    expect("hint" in error && sayFault(error)).toContain("models:\n    default: main\n    named:");
  });
});

describe("S4: keys", () => {
  test.each<[ModelConfig, Record<string, string>, string]>([
    [{ provider: "openai", id: "x" }, { OPENAI_API_KEY: "k" }, "k"],
    [{ provider: "anthropic", id: "x" }, { ANTHROPIC_API_KEY: "k" }, "k"],
    [{ provider: "google", id: "x" }, { GEMINI_API_KEY: "k" }, "k"],
    [
      { provider: "google", id: "x" },
      { GEMINI_API_KEY: "second", GOOGLE_GENERATIVE_AI_API_KEY: "first" },
      "first",
    ],
    [{ provider: "openrouter", id: "x" }, { OPENROUTER_API_KEY: "k" }, "k"],
    [{ provider: "openai", id: "x", key: "${env:MY_KEY}" }, { MY_KEY: "mine", OPENAI_API_KEY: "k" }, "mine"],
  ])("%o takes its key from its variable", (config, variables, key) => {
    expect(chooseModels(choice({ named: { main: config } }, keys(variables))).first.key).toBe(key);
  });

  test.each<[ModelConfig, string]>([
    [{ provider: "openai", id: "x" }, "OPENAI_API_KEY"],
    [{ provider: "google", id: "x" }, "GOOGLE_GENERATIVE_AI_API_KEY"],
    [{ ...own, key: "${env:MY_KEY}" }, "MY_KEY"],
  ])("a missing key is named: %o", (config, variable) => {
    expect(() => chooseModels(choice({ named: { main: config } }))).toThrow(
      expect.objectContaining({
        code: "model.key-missing",
        message: expect.stringContaining(variable),
        details: { model: "main", variable },
      }),
    );
  });

  test("none is sent to an endpoint that names none, whatever the environment holds", () => {
    const everything = { variable: () => "some-key" };
    expect(chooseModels(choice({ named: { main: own } }, everything)).first.key).toBeUndefined();
    const spelledOut = { ...everything, asked: { ...own, baseUrl: "https://elsewhere.example/v1" } };
    expect(chooseModels(choice({}, spelledOut)).first.key).toBeUndefined();
  });
});

describe("a model server on this machine", () => {
  test("is found by its list, without models that only embed, and asked where nothing is configured", async () => {
    const server = await startModelServer([], { models: ["nomic-embed-text", "qwen3:8b"] });
    const url = `http://127.0.0.1:${server.port}`;
    const found = await findLocalModels(
      { fetch: globalThis.fetch, clock: manualClock(START) },
      new AbortController().signal,
      [
        { provider: "ollama", url },
        { provider: "llama-server", url },
      ],
    );
    expect(found).toEqual([
      { provider: "ollama", id: "qwen3:8b", baseUrl: `${url}/v1` },
      { provider: "llama-server", id: "qwen3:8b", baseUrl: `${url}/v1` },
    ]);
    const chain = chooseModels(choice({}, { local: found }));
    expect(chain.first).toMatchObject({ name: "ollama/qwen3:8b", key: undefined });
    // A configured model is never passed over for one that happens to run.
    expect(() => chooseModels(choice({ named: { a: own, b: own } }, { local: found }))).toThrow(
      expect.objectContaining({ code: "model.unknown" }),
    );
  });

  test("that accepts but does not answer costs 300 ms, and is none", async () => {
    const clock = manualClock(START);
    const silent: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true });
      });
    const pending = findLocalModels({ fetch: silent, clock }, new AbortController().signal);
    await clock.whenSleeping(2);
    await clock.advance(300);
    expect(await pending).toEqual([]);
    expect(clock.sleeping()).toBe(0);
  });

  test("that does not run is none", async () => {
    const server = await startModelServer([]);
    await server.close();
    const deps = { fetch: globalThis.fetch, clock: manualClock(START) };
    const gone = [{ provider: "ollama" as const, url: `http://127.0.0.1:${server.port}` }];
    expect(await findLocalModels(deps, new AbortController().signal, gone)).toEqual([]);
  });
});
