// The `models` and `mcpServers` concerns of config.yaml: which models there are, which is used when, and with whose key.
//
// I1. A key is a reference `${env:NAME}`, resolved when a call is made, and sent to its own provider's host only.

import * as z from "zod/mini";
import { described, secretReference, text } from "./job-schema.ts";
import type { ReasoningEffort } from "./model.ts";

/** Each has its own wire form; `openai-compatible` is anything that speaks chat completions. */
export const PROVIDERS = [
  "openai",
  "anthropic",
  "google",
  "openrouter",
  "ollama",
  "llama-server",
  "openai-compatible",
] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** US dollars for a million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Default: as `input`. */
  cachedInput?: number | undefined;
}

/** A model as configured; what is absent takes the provider's own default. */
export interface ModelConfig {
  provider: ProviderName;
  /** The provider's own name of the model. */
  id: string;
  baseUrl?: string | undefined;
  /** A reference `${env:NAME}`; default: the provider's usual variable. */
  key?: string | undefined;
  price?: ModelPrice | undefined;
  /** Tokens of input and output together. Default 128,000. */
  contextLength?: number | undefined;
  maxOutputTokens?: number | undefined;
  temperature?: number | undefined;
  reasoningEffort?: ReasoningEffort | undefined;
  /** false = whole replies instead of a stream, for endpoints that cannot. Default true. */
  stream?: boolean | undefined;
}

export interface ModelsConfig {
  /** Name of a model in `named`. */
  default: string | undefined;
  /** For summaries. Default: the default model. */
  cheap: string | undefined;
  /** Tried in order after auth, quota and network errors of the model asked for. */
  fallback: readonly string[];
  named: Readonly<Record<string, ModelConfig>>;
  /** Whether calls are observed and can be recorded (S4). Default true. */
  relay: boolean;
  /** Whether each agent run keeps its calls and tool results for a replay. Default false. */
  record: boolean;
}

/** An MCP server whose tools agents may use: a program (stdio) or an address (streamable HTTP). */
export type McpServerConfig =
  | { command: string; args: readonly string[]; env: Readonly<Record<string, string>> }
  | { url: string; headers: Readonly<Record<string, string>> };

export const effortSchema = z.enum(["none", "minimal", "low", "medium", "high"]);

const price = () =>
  z.strictObject({
    input: z.number().check(z.gte(0)),
    output: z.number().check(z.gte(0)),
    cachedInput: z.optional(z.number().check(z.gte(0))),
  });

const model = () =>
  z.strictObject({
    provider: z.enum(PROVIDERS),
    id: text(),
    baseUrl: z.optional(
      z
        .string()
        .check(z.refine((value) => URL.canParse(value) && /^https?:/.test(value), "is no http(s) address")),
    ),
    key: z.optional(secretReference()),
    price: described("US dollars for a million tokens.", z.optional(price())),
    contextLength: z.optional(z.int().check(z.gte(1_000))),
    maxOutputTokens: z.optional(z.int().check(z.gte(1))),
    temperature: z.optional(z.number().check(z.gte(0), z.lte(2))),
    reasoningEffort: z.optional(effortSchema),
    stream: z.optional(z.boolean()),
  });

/** The `models` key. Names are checked against `named` by `modelsOf`. */
export const modelsSchema = () =>
  z.strictObject({
    default: z.optional(text()),
    cheap: z.optional(text()),
    fallback: z.optional(z.array(text())),
    named: z.optional(z.record(z.string(), model())),
    relay: z.optional(z.boolean()),
    record: z.optional(z.boolean()),
  });

/** The `mcpServers` key. */
export const mcpServersSchema = () =>
  z.record(
    z.string().check(z.regex(/^[a-z0-9][a-z0-9_-]*$/i, "is no name; write letters, digits, - and _")),
    z.union([
      z.strictObject({
        command: text(),
        args: z.optional(z.array(z.string())),
        env: z.optional(z.record(z.string(), z.string())),
      }),
      z.strictObject({ url: text(), headers: z.optional(z.record(z.string(), z.string())) }),
    ]),
  );

export type ModelsInput = z.infer<ReturnType<typeof modelsSchema>>;
export type McpServersInput = z.infer<ReturnType<typeof mcpServersSchema>>;

/** With defaults. A single named model is the default by itself. */
export function modelsOf(input: ModelsInput | undefined): ModelsConfig {
  const named = input?.named ?? {};
  const names = Object.keys(named);
  return {
    default: input?.default ?? (names.length === 1 ? names[0] : undefined),
    cheap: input?.cheap,
    fallback: input?.fallback ?? [],
    named,
    relay: input?.relay ?? true,
    record: input?.record ?? false,
  };
}

/** Names in `default`, `cheap` and `fallback` that no model has, for check-config. */
export function unknownModelNames(models: ModelsConfig): string[] {
  const used = [models.default, models.cheap, ...models.fallback];
  return [...new Set(used)].filter((name): name is string => name !== undefined && !(name in models.named));
}

export function mcpServersOf(input: McpServersInput | undefined): Readonly<Record<string, McpServerConfig>> {
  return Object.fromEntries(
    Object.entries(input ?? {}).map(([name, server]) => [
      name,
      "url" in server
        ? { url: server.url, headers: server.headers ?? {} }
        : { command: server.command, args: server.args ?? [], env: server.env ?? {} },
    ]),
  );
}
