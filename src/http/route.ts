// A route as a value: what it takes, what it answers, what it does. The server and the OpenAPI document are both made from it.

import type * as z from "zod/mini";
import type { Context } from "../app/context.ts";
import type { Instant } from "../kernel/time.ts";
import type { Parameters, Values } from "./parameters.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";
export type MediaType = "application/json" | "application/yaml" | "text/event-stream";

export interface RouteBody {
  types: readonly MediaType[];
  schema: z.ZodMiniType;
  isRequired: boolean;
}

export interface RouteAnswer {
  description: string;
  schema: z.ZodMiniType;
  /** Default `application/json`. */
  type?: MediaType;
}

/** What a handler returns: a document (JSON), or a response it has made itself. */
export type Answer = { status: number; document: unknown; headers?: Record<string, string> } | Response;

export interface Call<Query extends Parameters> {
  context: Context;
  now: Instant;
  path: Readonly<Record<string, string>>;
  query: Values<Query>;
  /** Empty when there is none. */
  body: string;
  bodyType: MediaType | undefined;
  header(name: string): string | undefined;
  /** Aborts when the server stops. */
  signal: AbortSignal;
  /** Says that the response goes on after the handler; the returned function says that it has ended. Idempotent. */
  track(): () => void;
}

export interface RouteSpec<Query extends Parameters> {
  method: Method;
  /** Below `/api`, as OpenAPI writes it: `/jobs/{id}`. */
  path: string;
  operationId: string;
  summary: string;
  tag: "jobs" | "runs" | "deliveries" | "incidents" | "workflows" | "executors" | "nodes" | "time";
  query?: Query;
  body?: RouteBody;
  /** Request headers it reads, for the document: name → description. */
  headers?: Readonly<Record<string, string>>;
  answers: Readonly<Record<number, RouteAnswer>>;
  /** Refused to callers inside a run (S1). */
  changesJobs?: true;
  handle(call: Call<Query>): Promise<Answer>;
}

export type Route = Omit<RouteSpec<Parameters>, "handle"> & {
  handle(call: Call<Parameters>): Promise<Answer>;
};

/** Keeps the types of the query inside the handler, and forgets them outside. */
export function route<Query extends Parameters>(spec: RouteSpec<Query>): Route {
  return spec as unknown as Route;
}

export function answer(document: unknown): Answer {
  return { status: 200, document };
}

/** What people write by hand may come as JSON or as YAML. */
export const JSON_OR_YAML: readonly MediaType[] = ["application/json", "application/yaml"];

/** A job's version, to be sent back as `If-Match`. */
export function etag(version: number): { etag: string } {
  return { etag: `"${version}"` };
}
