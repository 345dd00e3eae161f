// What model server runs on this machine: Ollama and llama-server on their usual ports.
//
// I1. Asked only where nothing is configured, or when a person checks: it costs a connection per server.
// I2. Bounded: no answer in time is no server. Nothing but its list of models is read, and no key is sent.

import type { Clock } from "../../kernel/time.ts";
import type { ModelConfig } from "../../records/models-config.ts";
import type { Fetch } from "./model-fetch.ts";

/** Long for a server on this machine, short for a person who waits. */
const PROBE_TIMEOUT_MS = 300;
/** Models that cannot answer: they turn text into numbers. */
const NO_CHAT = /embed|rerank/i;

export interface LocalServer {
  provider: "ollama" | "llama-server";
  /** Root, without a path. */
  url: string;
}

export const LOCAL_SERVERS: readonly LocalServer[] = [
  { provider: "ollama", url: "http://127.0.0.1:11434" },
  { provider: "llama-server", url: "http://127.0.0.1:8080" },
];

export interface FindLocalDeps {
  fetch: Fetch;
  clock: Pick<Clock, "sleep">;
}

/** The models of every server that answers, in the servers' order. Never throws, except the signal's reason. */
export async function findLocalModels(
  deps: FindLocalDeps,
  signal: AbortSignal,
  servers: readonly LocalServer[] = LOCAL_SERVERS,
): Promise<ModelConfig[]> {
  const lists = await Promise.all(servers.map((server) => modelsOf(deps, server, signal)));
  signal.throwIfAborted();
  return lists.flat();
}

async function modelsOf(
  deps: FindLocalDeps,
  server: LocalServer,
  signal: AbortSignal,
): Promise<ModelConfig[]> {
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  const timer = deps.clock.sleep(PROBE_TIMEOUT_MS, stop).then(
    () => ended.abort(),
    () => {},
  );
  try {
    const path = server.provider === "ollama" ? "/api/tags" : "/v1/models";
    const response = await deps.fetch(`${server.url}${path}`, { signal: stop });
    return response.ok ? configsOf(server, await response.json()) : [];
  } catch {
    return [];
  } finally {
    ended.abort();
    await timer;
  }
}

function configsOf({ provider, url }: LocalServer, answer: unknown): ModelConfig[] {
  if (typeof answer !== "object" || answer === null) return [];
  const list = "models" in answer ? answer.models : "data" in answer ? answer.data : [];
  return (Array.isArray(list) ? list : [])
    .map((row: unknown) => idOf(row))
    .filter((id) => id !== undefined && !NO_CHAT.test(id))
    .map((id) => ({ provider, id: id ?? "", baseUrl: `${url}/v1` }));
}

function idOf(row: unknown): string | undefined {
  if (typeof row !== "object" || row === null) return undefined;
  const id = "name" in row ? row.name : "id" in row ? row.id : undefined;
  return typeof id === "string" ? id : undefined;
}
