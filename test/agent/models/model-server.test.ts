// The scripted model itself: what other tests lean on. The bare AI SDK providers are the judges of its wire forms.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV3, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import {
  callTools,
  fail,
  type ModelServer,
  makeGate,
  say,
  startModelServer,
} from "../../support/model-server.ts";

const dialects: Record<string, (server: ModelServer) => LanguageModelV3> = {
  chat: ({ baseUrl }) =>
    createOpenAICompatible({ name: "test", baseURL: baseUrl, includeUsage: true })("scripted"),
  responses: ({ baseUrl }) => createOpenAI({ baseURL: baseUrl, apiKey: "k" }).responses("scripted"),
  anthropic: ({ baseUrl }) => createAnthropic({ baseURL: baseUrl, apiKey: "k" })("scripted"),
  google: ({ googleUrl }) => createGoogleGenerativeAI({ baseURL: googleUrl, apiKey: "k" })("scripted"),
};

const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];
const tools = [
  {
    type: "function" as const,
    name: "look",
    description: "Looks.",
    inputSchema: { type: "object" as const, properties: { at: { type: "string" as const } } },
  },
];

async function partsOf(model: LanguageModelV3): Promise<LanguageModelV3StreamPart[]> {
  const parts: LanguageModelV3StreamPart[] = [];
  const { stream } = await model.doStream({ prompt, tools });
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
  return parts;
}

describe.each(Object.entries(dialects))("a scripted model that speaks %s", (_name, modelFor) => {
  const step = callTools(
    [
      { id: "a", name: "look", arguments: { at: "sea" } },
      { id: "b", name: "look", arguments: { at: "sky" } },
    ],
    {
      text: ["I ", "look."],
      reasoning: ["Where", " to?"],
      signature: "signed",
      usage: { input: 100, output: 20, cached: 40 },
    },
  );

  test("streams reasoning, text, parallel calls and usage as its provider reads them", async () => {
    const server = await startModelServer([step]);
    const parts = await partsOf(modelFor(server));
    const deltas = (type: string) =>
      parts.flatMap((part) => (part.type === type && "delta" in part ? [part.delta] : [])).join("");
    expect(deltas("text-delta")).toBe("I look.");
    expect(deltas("reasoning-delta")).toBe("Where to?");
    expect(parts.flatMap((part) => (part.type === "tool-call" ? [JSON.parse(part.input)] : []))).toEqual([
      { at: "sea" },
      { at: "sky" },
    ]);
    const finish = parts.find((part) => part.type === "finish");
    expect(finish).toMatchObject({
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: { total: 100, cacheRead: 40 }, outputTokens: { total: 20 } },
    });
    expect(parts.filter((part) => part.type === "error")).toEqual([]);
  });

  test("answers whole when it is not asked to stream", async () => {
    const server = await startModelServer([step]);
    const { content, usage } = await modelFor(server).doGenerate({ prompt, tools });
    expect(content.map((part) => part.type)).toEqual(["reasoning", "text", "tool-call", "tool-call"]);
    expect(usage).toMatchObject({ inputTokens: { total: 100 }, outputTokens: { total: 20 } });
    expect(server.requests[0]).toMatchObject({ number: 1, isStreaming: false });
  });

  test("lets pieces through a gate one by one", async () => {
    const gate = makeGate();
    const server = await startModelServer([say(["one", "two"], { gate })]);
    const { stream } = await modelFor(server).doStream({ prompt });
    const reader = stream.getReader();
    const nextDelta = async (): Promise<string> => {
      const { value } = await reader.read();
      return value?.type === "text-delta" ? value.delta : nextDelta();
    };
    gate.release();
    expect(await nextDelta()).toBe("one");
    await gate.whenWaiting();
    gate.open();
    expect(await nextDelta()).toBe("two");
    await reader.cancel();
  });

  test("fails with a status and Retry-After", async () => {
    const server = await startModelServer([fail(429, { retryAfter: 7 })]);
    await expect(modelFor(server).doGenerate({ prompt })).rejects.toMatchObject({
      statusCode: 429,
      responseHeaders: { "retry-after": "7" },
    });
  });
});
