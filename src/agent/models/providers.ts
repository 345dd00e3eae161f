// The table of providers: how each one's adapter is made and what options it takes. A provider is one row.
//
// I1. Address and key are always given: an adapter left to itself would look into the environment.

import type {
  JSONObject,
  LanguageModelV3,
  LanguageModelV3FunctionTool,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import type { ReasoningEffort, ToolSpec } from "../../records/model.ts";
import type { ProviderName } from "../../records/models-config.ts";
import type { ResolvedModel } from "./choose-model.ts";
import type { Fetch } from "./model-fetch.ts";

export type ModelSdk = typeof import("./sdk.ts");

/** Loads the SDK, once a process: tens of megabytes that most commands never need. */
export const loadModelSdk = (): Promise<ModelSdk> => import("./sdk.ts");

interface ProviderRow {
  open(sdk: ModelSdk, model: ResolvedModel, fetch: Fetch): LanguageModelV3;
  /** The adapter's options for an effort. `id` is the provider's name of the model. */
  effort(effort: ReasoningEffort, id: string): Record<string, JSONObject>;
  /** Options of every call. */
  always?: SharedV3ProviderOptions;
  /** Marks what its cache should keep: the last system message and the last message. */
  cacheMark?: SharedV3ProviderOptions;
  /** Writing to its cache costs this many times the input's price. */
  cacheWriteFactor?: number;
  /** Tokens of thought that come on top of the maximum output. */
  thinkingTokens?(effort: ReasoningEffort): number;
  /** Reasoning goes back with the calls it led to, though its provider signs nothing. */
  givesReasoningBack?: boolean;
}

/** Budgets of thought. @source Anthropic's guide: at least 1,024; Google's: up to 24,576 */
const THINKING_TOKENS: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 24_576,
};

const compatible: ProviderRow = {
  open: (sdk, { config, baseUrl, key }, fetch) =>
    sdk.createOpenAICompatible({
      name: config.provider,
      baseURL: baseUrl,
      includeUsage: true,
      fetch,
      ...(key === undefined ? {} : { apiKey: key }),
    })(config.id),
  effort: (reasoningEffort) => ({ openaiCompatible: { reasoningEffort } }),
  givesReasoningBack: true,
};

const rows: Readonly<Record<ProviderName, ProviderRow>> = {
  "openai-compatible": compatible,
  openrouter: compatible,
  ollama: compatible,
  "llama-server": compatible,
  openai: {
    open: (sdk, { config, baseUrl, key }, fetch) =>
      sdk.createOpenAI({ baseURL: baseUrl, apiKey: key ?? "", fetch }).responses(config.id),
    effort: (reasoningEffort) => ({ openai: { reasoningEffort, reasoningSummary: "auto" } }),
    // Nothing stays with the provider; reasoning comes along encrypted and is given back.
    always: { openai: { store: false } },
  },
  anthropic: {
    open: (sdk, { config, baseUrl, key }, fetch) =>
      sdk.createAnthropic({ baseURL: baseUrl, apiKey: key ?? "", fetch })(config.id),
    effort: (effort) => ({
      anthropic: {
        thinking:
          effort === "none"
            ? { type: "disabled" }
            : { type: "enabled", budgetTokens: THINKING_TOKENS[effort] },
      },
    }),
    cacheMark: { anthropic: { cacheControl: { type: "ephemeral" } } },
    // @source Anthropic's price list: writing the five-minute cache costs a quarter more.
    cacheWriteFactor: 1.25,
    thinkingTokens: (effort) => THINKING_TOKENS[effort],
  },
  google: {
    open: (sdk, { config, baseUrl, key }, fetch) =>
      sdk.createGoogleGenerativeAI({ baseURL: baseUrl, apiKey: key ?? "", fetch })(config.id),
    effort: (effort, id) => ({
      google: { thinkingConfig: { ...googleThinking(effort, id), includeThoughts: effort !== "none" } },
    }),
  },
};

/** @source Google's guide: models up to 2.5 take a budget, later ones a level (`minimal` is the least). */
function googleThinking(effort: ReasoningEffort, id: string): JSONObject {
  const generation = Number(/gemini-(\d+)/.exec(id)?.[1] ?? 0);
  if (generation < 3) return { thinkingBudget: THINKING_TOKENS[effort] };
  return { thinkingLevel: effort === "none" ? "minimal" : effort };
}

/** The row's facts that others need. */
export function providerFacts(provider: ProviderName) {
  const { cacheMark, cacheWriteFactor = 1, thinkingTokens, givesReasoningBack = false } = rows[provider];
  return { cacheMark, cacheWriteFactor, thinkingTokens, givesReasoningBack };
}

/** The adapter for a model. */
export function openLanguageModel(sdk: ModelSdk, model: ResolvedModel, fetch: Fetch): LanguageModelV3 {
  return rows[model.config.provider].open(sdk, model, fetch);
}

/** What the adapter is told beside the prompt. */
export function providerOptionsOf({ config }: ResolvedModel): SharedV3ProviderOptions {
  const { always = {}, effort } = rows[config.provider];
  if (config.reasoningEffort === undefined) return always;
  const wished = effort(config.reasoningEffort, config.id);
  const sum: Record<string, JSONObject> = { ...always };
  for (const [name, fields] of Object.entries(wished)) sum[name] = { ...sum[name], ...fields };
  return sum;
}

/** Our tools in the adapter's form. */
export function toFunctionTools(tools: readonly ToolSpec[]): LanguageModelV3FunctionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    // JSON Schema by its makers' word (records/model.ts): the adapter's type has no narrower door.
    inputSchema: parameters as LanguageModelV3FunctionTool["inputSchema"],
  }));
}
