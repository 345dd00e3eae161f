// Which models a run asks: a name or a spelled-out model becomes a chain of resolved models, the one asked for first.
// Pure: variables and what was found on this machine are arguments.
//
// I1. A spelled-out model has no fallback: who names an address means that address.
// I2. A fallback that cannot be asked (no key, a refused host) is left out, and named in `left`.

import { Fault, isFault, nearestWord } from "../../kernel/errors.ts";
import type { ModelRef } from "../../records/agent-work.ts";
import type { ReasoningEffort } from "../../records/model.ts";
import {
  type ModelConfig,
  type ModelsConfig,
  PROVIDERS,
  type ProviderName,
} from "../../records/models-config.ts";
import { requireOwnHost, USUAL_VARIABLES } from "./key-host.ts";

/** A model that can be asked. Holds its key: never logged, never stored. */
export interface ResolvedModel {
  /** The configured name; `provider/id` for one that was spelled out or found. */
  name: string;
  config: ModelConfig;
  baseUrl: string;
  key: string | undefined;
}

export interface ModelChain {
  first: ResolvedModel;
  fallback: readonly ResolvedModel[];
  /** Names in the config's `fallback` that cannot be asked, with the reason. */
  left: readonly { name: string; why: string }[];
}

export interface ModelChoice {
  models: ModelsConfig;
  /** Undefined = the config's default. */
  asked?: ModelRef | undefined;
  /** A job's own wish, over the model's. */
  reasoningEffort?: ReasoningEffort | undefined;
  /** A variable of the process or of `.env`. */
  variable(name: string): string | undefined;
  /** What runs on this machine (`findLocalModels`), used where nothing is configured. Best first. */
  local?: readonly ModelConfig[] | undefined;
}

/** @source the providers' API references; Ollama and llama.cpp on their default ports */
const BASE_URLS: Partial<Record<ProviderName, string>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  openrouter: "https://openrouter.ai/api/v1",
  ollama: "http://127.0.0.1:11434/v1",
  "llama-server": "http://127.0.0.1:8080/v1",
};

/**
 * The chain for a run's own calls.
 * @throws Fault `model.unknown` (no such name, nothing configured), `model.key-missing`, `model.host-refused`.
 */
export function chooseModels(choice: ModelChoice): ModelChain {
  const first = resolve(choice, askedModel(choice));
  const isSpelledOut = typeof choice.asked === "object";
  const fallback: ResolvedModel[] = [];
  const left: { name: string; why: string }[] = [];
  for (const name of isSpelledOut ? [] : new Set(choice.models.fallback)) {
    if (name === first.name) continue;
    try {
      fallback.push(resolve(choice, { name, config: namedModel(choice.models, name) }));
    } catch (error) {
      if (!isFault(error)) throw error;
      left.push({ name, why: error.message });
    }
  }
  return { first, fallback, left };
}

/** The chain for summaries and the like: the cheap model, else the run's own chain. */
export function chooseCheapModels(choice: ModelChoice): ModelChain {
  const { cheap } = choice.models;
  if (cheap === undefined) return chooseModels(choice);
  return chooseModels({ ...choice, asked: cheap, reasoningEffort: undefined });
}

interface NamedModel {
  name: string;
  config: ModelConfig;
}

function askedModel({ models, asked, local }: ModelChoice): NamedModel {
  if (typeof asked === "object") return spelledOut(asked);
  const name = asked ?? models.default;
  if (name !== undefined) return { name, config: namedModel(models, name) };
  const [found] = local ?? [];
  if (found && Object.keys(models.named).length === 0) return { name: nameOf(found), config: found };
  throw nothingConfigured(models);
}

function namedModel(models: ModelsConfig, name: string): ModelConfig {
  const config = Object.hasOwn(models.named, name) ? models.named[name] : undefined;
  if (config) return config;
  const names = Object.keys(models.named);
  const near = nearestWord(name, names);
  throw new Fault("model.unknown", `There is no model "${name}"`, {
    hint:
      names.length === 0
        ? NO_MODEL_HINT
        : near
          ? `Did you mean "${near}"?`
          : `Use one of ${names.join(", ")}, or add it under \`models.named\` in config.yaml.`,
    details: { known: names },
  });
}

function spelledOut({ provider, id, baseUrl }: Exclude<ModelRef, string>): NamedModel {
  const known = PROVIDERS.find((name) => name === provider);
  if (!known) {
    const near = nearestWord(provider, PROVIDERS);
    throw new Fault("model.unknown", `There is no provider "${provider}"`, {
      hint: near ? `Did you mean "${near}"?` : `Use one of ${PROVIDERS.join(", ")}.`,
      details: { known: PROVIDERS },
    });
  }
  const config: ModelConfig = { provider: known, id, baseUrl };
  return { name: nameOf(config), config };
}

function nameOf({ provider, id }: ModelConfig): string {
  return `${provider}/${id}`;
}

function resolve(choice: ModelChoice, { name, config }: NamedModel): ResolvedModel {
  const { provider } = config;
  const baseUrl = (config.baseUrl ?? BASE_URLS[provider])?.replace(/\/+$/, "");
  if (baseUrl === undefined)
    throw new Fault("model.unknown", `Model "${name}" has no address`, {
      hint: "Write the endpoint as `baseUrl`, for example http://127.0.0.1:8000/v1.",
    });
  const variable = keyVariable(choice, config);
  requireOwnHost({ model: name, provider, baseUrl, variable });
  const key = variable === undefined ? undefined : choice.variable(variable);
  if (variable !== undefined && !key) throw keyMissing(name, variable);
  const { reasoningEffort } = choice;
  return { name, config: reasoningEffort ? { ...config, reasoningEffort } : config, baseUrl, key };
}

/** The variable whose value is sent; a hosted provider always has one, others only when they name it. */
function keyVariable({ variable }: ModelChoice, { provider, key }: ModelConfig): string | undefined {
  if (key !== undefined) return /^\$\{env:(.+)\}$/.exec(key)?.[1];
  const usual = USUAL_VARIABLES[provider];
  return usual?.find((name) => variable(name)) ?? usual?.[0];
}

function keyMissing(model: string, variable: string): Fault {
  return new Fault("model.key-missing", `The key of model "${model}" is missing: ${variable} is not set`, {
    hint: `Put ${variable}=… into .env in the home (mode 600), or set it in the environment.`,
    details: { model, variable },
  });
}

const NO_MODEL_HINT = [
  "Add one to config.yaml, for example:",
  "  models:",
  "    default: main",
  "    named:",
  "      main: {provider: openai, id: MODEL, key: '${env:OPENAI_API_KEY}'}",
  "or start Ollama or llama-server on this machine.",
].join("\n");

function nothingConfigured(models: ModelsConfig): Fault {
  const names = Object.keys(models.named);
  if (names.length === 0)
    return new Fault("model.unknown", "No model is configured", { hint: NO_MODEL_HINT });
  return new Fault("model.unknown", "No model was named and none is the default", {
    hint: `Write \`models.default: ${names[0]}\` into config.yaml, or name the model in the job.`,
    details: { known: names },
  });
}
