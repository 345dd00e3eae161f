// Whole conversations over every provider's wire: what went out, what came back, and what is given back.

import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/records/conversation.ts";
import type { ModelReply } from "../../../src/records/model.ts";
import type { ModelConfig } from "../../../src/records/models-config.ts";
import { callTools, type ModelServer, say, startModelServer } from "../../support/model-server.ts";
import { asks, calling, chainOf, LOOK, PRICE, portFor } from "./ports.ts";

const KEYS = { OWN: "own-key" };

const configs: Record<string, (server: ModelServer) => ModelConfig> = {
  "openai-compatible": ({ baseUrl }) => ({ provider: "openai-compatible", id: "scripted", baseUrl }),
  openai: ({ baseUrl }) => ({ provider: "openai", id: "gpt-5", baseUrl, key: "${env:OWN}" }),
  anthropic: ({ baseUrl }) => ({
    provider: "anthropic",
    id: "claude-sonnet-4-5",
    baseUrl,
    key: "${env:OWN}",
  }),
  google: ({ googleUrl }) => ({
    provider: "google",
    id: "gemini-2.5-pro",
    baseUrl: googleUrl,
    key: "${env:OWN}",
  }),
};

const authorization: Record<string, [header: string, value: string | undefined]> = {
  "openai-compatible": ["authorization", undefined],
  openai: ["authorization", "Bearer own-key"],
  anthropic: ["x-api-key", "own-key"],
  google: ["x-goog-api-key", "own-key"],
};

const firstTurn = callTools(
  [
    { id: "call-a", name: "look", arguments: { at: "sea" } },
    { id: "call-b", name: "look", arguments: { at: "sky" } },
  ],
  {
    text: "I look.",
    reasoning: "Where to?",
    signature: "c2lnbmVk",
    usage: { input: 1_000, output: 100, cached: 200 },
  },
);

function assistant(reply: ModelReply): Message {
  const { text, reasoning, toolCalls, providerParts } = reply;
  return { role: "assistant", text, reasoning, toolCalls, ...(providerParts ? { providerParts } : {}) };
}

function results(reply: ModelReply): Message[] {
  return reply.toolCalls.map(({ id, name }, index) => ({
    role: "tool",
    callId: id,
    name,
    text: `{"error":null,"seen":${index}}`,
  }));
}

describe.each(Object.keys(configs))("a conversation with %s", (provider) => {
  const configOf = (server: ModelServer) => ({ ...configs[provider]!(server), price: PRICE });

  test.each([true, false])("goes over two turns with parallel calls (stream: %s)", async (stream) => {
    const server = await startModelServer([firstTurn, say("Calm and clear.")]);
    const { call } = portFor(chainOf({ main: { ...configOf(server), stream } }, KEYS));
    const request = asks("What is it like?", { tools: [LOOK] });

    const first = await call(request, calling());
    const messages = [...request.messages, assistant(first), ...results(first)];
    const second = await call({ ...request, messages }, calling());

    expect(first).toMatchObject({ text: "I look.", reasoning: "Where to?", finish: "toolCalls" });
    expect(first.toolCalls.map(({ arguments: text }) => JSON.parse(text))).toEqual([
      { at: "sea" },
      { at: "sky" },
    ]);
    expect(first.usage).toMatchObject({ inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 200 });
    expect(first.costUsd).toBeCloseTo((800 * 2 + 200 * 0.5 + 100 * 10) / 1e6, 9);
    expect(second).toMatchObject({ text: "Calm and clear.", finish: "stop", toolCalls: [] });
    expect(server.requests.map(({ isStreaming }) => isStreaming)).toEqual([stream, stream]);
    const [header, value] = authorization[provider]!;
    expect(server.requests[1]?.headers[header]).toBe(value);
  });

  test("shows a model the malformed call it made, and its refusal", async () => {
    const server = await startModelServer([say("Sorry.")]);
    const { call } = portFor(chainOf({ main: configOf(server) }, KEYS));
    const broken = { id: "call-x", name: "look", arguments: '{"at": ' };
    const messages: Message[] = [
      { role: "user", text: "Look." },
      { role: "assistant", text: "", toolCalls: [broken] },
      { role: "tool", callId: "call-x", name: "look", text: '{"error":"The arguments are no JSON."}' },
    ];
    await call({ messages, tools: [LOOK] }, calling());
    expect(JSON.stringify(server.requests[0]?.body)).toContain("malformedArguments");
  });
});

/** The second request after `firstTurn`, and its assistant message changed by `change` before. */
async function secondBody(
  provider: string,
  change: (reply: ModelReply) => ModelReply,
  answeredBy = provider,
) {
  const server = await startModelServer([firstTurn, say("Done.")]);
  const one = portFor(chainOf({ main: configs[answeredBy]!(server) }, KEYS));
  const two = portFor(chainOf({ main: configs[provider]!(server) }, KEYS));
  const request = asks("Look.", { tools: [LOOK] });
  const first = change(await one.call(request, calling()));
  await two.call(
    { ...request, messages: [...request.messages, assistant(first), ...results(first)] },
    calling(),
  );
  return JSON.stringify(server.requests[1]?.body);
}

describe("S4: what a provider wants back", () => {
  test.each([
    ["anthropic", '"type":"thinking","thinking":"Where to?","signature":"c2lnbmVk"'],
    ["openai", '"encrypted_content":"c2lnbmVk"'],
    ["google", '"thoughtSignature":"c2lnbmVk"'],
    ["openai-compatible", '"reasoning_content":"Where to?"'],
  ])("%s gets its signed reasoning again, unchanged", async (provider, expected) => {
    expect(await secondBody(provider, (reply) => reply)).toContain(expected);
    // The log keeps events as JSON: the parts must survive it.
    expect(await secondBody(provider, (reply) => JSON.parse(JSON.stringify(reply)))).toContain(expected);
  });

  test("Anthropic keeps a conversation that ends with tool results in its cache, up to the last of them", async () => {
    const body = JSON.parse(await secondBody("anthropic", (reply) => reply));
    const marked = body.messages.flatMap(({ content }: { content: Record<string, unknown>[] }) =>
      content.filter((part) => part.cache_control !== undefined),
    );
    expect(marked).toMatchObject([{ type: "tool_result", tool_use_id: "call-b" }]);
  });

  test("another provider does not get it", async () => {
    const body = await secondBody("anthropic", (reply) => reply, "google");
    expect(body).not.toContain("c2lnbmVk");
    expect(body).toContain('"I look."');
  });

  test("a message that was changed since is given back plain: text and calls, no opaque parts", async () => {
    const body = await secondBody("anthropic", (reply) => ({ ...reply, text: "I looked." }));
    expect(body).not.toContain("c2lnbmVk");
    expect(body).toContain('"I looked."');
    expect(body).toContain('"tool_use"');
  });

  test("parts of no known form are ignored", async () => {
    const body = await secondBody("anthropic", (reply) => ({ ...reply, providerParts: [{ odd: true }, 7] }));
    expect(body).toContain('"I look."');
  });
});

describe("what a provider is told beside the conversation", () => {
  async function bodyFor(config: (server: ModelServer) => ModelConfig, more: Partial<ModelConfig>) {
    const server = await startModelServer([say("x")]);
    const { call } = portFor(chainOf({ main: { ...config(server), ...more } }, KEYS));
    await call(asks("Go.", { tools: [LOOK] }), calling());
    return server.requests[0]!;
  }

  test("Anthropic keeps system and conversation in its cache, and thinks within a budget", async () => {
    const { body } = await bodyFor(configs.anthropic!, { reasoningEffort: "low", maxOutputTokens: 4_000 });
    expect(body).toMatchObject({
      system: [{ type: "text", text: "You are brief.", cache_control: { type: "ephemeral" } }],
      messages: [{ role: "user", content: [{ text: "Go.", cache_control: { type: "ephemeral" } }] }],
      thinking: { type: "enabled", budget_tokens: 2_048 },
      max_tokens: 6_048,
    });
  });

  test("OpenAI keeps nothing of it", async () => {
    const { body } = await bodyFor(configs.openai!, { reasoningEffort: "minimal" });
    expect(body).toMatchObject({ store: false, reasoning: { effort: "minimal" } });
  });

  test.each([
    ["gemini-2.5-pro", { thinkingBudget: 8_192, includeThoughts: true }],
    ["gemini-3-pro", { thinkingLevel: "medium", includeThoughts: true }],
  ])("Google's %s takes an effort in its own way", async (id, thinkingConfig) => {
    const { body } = await bodyFor(configs.google!, { id, reasoningEffort: "medium" });
    expect(body.generationConfig).toMatchObject({ thinkingConfig });
  });

  test.each(["ollama", "llama-server", "openrouter"] as const)(
    "%s is asked in OpenAI's form",
    async (provider) => {
      const server = await startModelServer([say("x", { usage: { input: 7, output: 3 } })]);
      const key = provider === "openrouter" ? { key: "${env:OWN}" } : {};
      const config = {
        provider,
        id: "some/model",
        baseUrl: server.baseUrl,
        reasoningEffort: "high" as const,
        ...key,
      };
      const { call } = portFor(chainOf({ main: config }, KEYS));
      expect((await call(asks("Go."), calling())).usage).toMatchObject({ inputTokens: 7, outputTokens: 3 });
      expect(server.requests[0]).toMatchObject({
        path: "/v1/chat/completions",
        body: { model: "some/model", reasoning_effort: "high", stream_options: { include_usage: true } },
      });
    },
  );
});
