// Where a key may go. Rows are addresses; the rule is in src/agent/models/key-host.ts.

import { describe, expect, test } from "vitest";
import { requireOwnHost } from "../../../src/agent/models/key-host.ts";
import type { ProviderName } from "../../../src/records/models-config.ts";

const ask = (provider: ProviderName, baseUrl: string, variable?: string) => () =>
  requireOwnHost({ model: "main", provider, baseUrl, variable });

const refused = expect.objectContaining({ code: "model.host-refused" });

describe("S4: a provider's key goes to its own hosts", () => {
  test.each<[ProviderName, string, string]>([
    ["openai", "https://api.openai.com/v1", "OPENAI_API_KEY"],
    ["openai", "https://eu.api.openai.com/v1", "OPENAI_API_KEY"],
    ["openai", "https://api.openai.com:8443/v1", "OPENAI_API_KEY"],
    ["anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"],
    ["google", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"],
    ["openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"],
    // Another form at the same host is the same owner.
    ["openai-compatible", "https://api.openai.com/v1", "OPENAI_API_KEY"],
    ["openai-compatible", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"],
  ])("%s at %s with %s", (provider, baseUrl, variable) => {
    expect(ask(provider, baseUrl, variable)).not.toThrow();
  });

  test.each<[string, ProviderName, string]>([
    ["a suffix", "openai", "https://api.openai.com.evil.example/v1"],
    ["a prefix without a dot", "openai", "https://evilopenai.com/v1"],
    ["a hyphen for a dot", "anthropic", "https://api-anthropic.com/v1"],
    ["a user name", "openai", "https://api.openai.com@evil.example/v1"],
    ["a user name and password before the true host", "openai", "https://user:pass@api.openai.com/v1"],
    ["upper case", "openai", "https://API.OPENAI.COM/v1"],
    ["a dot at the end", "openai", "https://api.openai.com./v1"],
    ["punycode", "openai", "https://api.xn--openi-6qa.com/v1"],
    ["a letter of another script", "openai", "https://api.\u043Epenai.com/v1"],
    ["full-width letters, which parse to the true host", "openai", "https://api.\uFF4Fpenai.com/v1"],
    ["back slashes", "openai", "https:\\\\api.openai.com\\v1"],
    ["a tab in the host", "openai", "https://api.open\tai.com/v1"],
    ["an escaped letter", "openai", "https://api.%6Fpenai.com/v1"],
    ["the sibling of a host that is only half theirs", "google", "https://storage.googleapis.com/v1"],
    ["another provider's host", "anthropic", "https://api.openai.com/v1"],
    ["a private address", "openai", "https://10.0.0.7/v1"],
    ["no TLS", "openai", "http://api.openai.com/v1"],
    ["no address at all", "openai", "api.openai.com"],
  ])("refuses %s: %s at %s", (_trick, provider, baseUrl) => {
    expect(ask(provider, baseUrl, `${provider.toUpperCase()}_API_KEY`)).toThrow(refused);
    expect(ask(provider, baseUrl, "A_KEY_OF_ITS_OWN")).toThrow(refused);
  });

  test.each<[ProviderName, string, string]>([
    ["openai-compatible", "https://gateway.example/v1", "OPENAI_API_KEY"],
    ["openai-compatible", "http://127.0.0.1:4000/v1", "ANTHROPIC_API_KEY"],
    ["ollama", "http://127.0.0.1:11434/v1", "OPENROUTER_API_KEY"],
    ["anthropic", "http://127.0.0.1:4000/v1", "ANTHROPIC_API_KEY"],
    ["openrouter", "https://api.openai.com/v1", "OPENROUTER_API_KEY"],
  ])("refuses to give %s at %s the key in %s", (provider, baseUrl, variable) => {
    expect(ask(provider, baseUrl, variable)).toThrow(refused);
  });

  test("says which host it is, and what to write instead; never a password in the address", () => {
    let error: unknown;
    try {
      ask("openai", "https://user:hunter2@api.openai.com/v1", "OPENAI_API_KEY")();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      hint: "Write the address as https://api.openai.com/v1, if that is meant.",
    });
    expect(String(error)).not.toContain("hunter2");
  });
});

describe("S4: a model with a key of its own", () => {
  test.each<[ProviderName, string]>([
    ["openai-compatible", "https://gateway.example/v1"],
    ["openai-compatible", "http://127.0.0.1:4000/v1"],
    ["openai-compatible", "http://[::1]:4000/v1"],
    ["openai-compatible", "http://192.168.1.20:8000/v1"],
    ["openai-compatible", "http://[fd00::7]:8000/v1"],
    ["openai-compatible", "http://vllm:8000/v1"],
    ["openai-compatible", "http://gpu.local:8000/v1"],
    ["anthropic", "http://127.0.0.1:4000/v1"],
    ["anthropic", "http://localhost:4000/v1"],
  ])("%s may be asked at %s", (provider, baseUrl) => {
    expect(ask(provider, baseUrl, "GATEWAY_KEY")).not.toThrow();
  });

  test.each([
    "http://gateway.example/v1",
    "http://8.8.8.8/v1",
    "http://172.32.0.1/v1",
    "http://[2001:4860:4860::8888]/v1",
    "http://127.0.0.1.evil.example/v1",
    "http://localhost.evil.example/v1",
  ])("is not sent without TLS to %s", (baseUrl) => {
    expect(ask("openai-compatible", baseUrl, "GATEWAY_KEY")).toThrow(refused);
    // Without a key nothing is at stake but the prompt, which a person sends there knowingly.
    expect(ask("openai-compatible", baseUrl)).not.toThrow();
  });
});
