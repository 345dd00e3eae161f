// The OpenAPI 3.1 document, made from the route table. Loaded when it is asked for.

import type * as z from "zod/mini";
import { type $ZodType, globalRegistry, registry, toJSONSchema } from "zod/v4/core";
import { jobSchema } from "../records/job-schema.ts";
import { firedEventSchema } from "./contract/events.ts";
import { incidentSchema } from "./contract/incidents.ts";
import { jobEchoSchema, jobShowSchema, planSchema, scheduleSchema, transferSchema } from "./contract/jobs.ts";
import { diagnosisSchema, errorSchema, healthSchema, nodeSchema, statusSchema } from "./contract/nodes.ts";
import {
  auditSchema,
  deliverySchema,
  eventSchema,
  explanationSchema,
  runSchema,
  runShowSchema,
  runTreeSchema,
} from "./contract/runs.ts";
import type { Parameter } from "./parameters.ts";
import type { MediaType, Route, RouteAnswer } from "./route.ts";

type Json = Record<string, unknown>;

/** What is answered and has a name of its own. */
const NAMED: Readonly<Record<string, z.ZodMiniType>> = {
  Job: jobShowSchema,
  JobEcho: jobEchoSchema,
  TransferResult: transferSchema,
  Run: runSchema,
  RunShow: runShowSchema,
  RunTree: runTreeSchema,
  Event: eventSchema,
  Explanation: explanationSchema,
  Audit: auditSchema,
  Delivery: deliverySchema,
  Incident: incidentSchema,
  FiredEvent: firedEventSchema,
  Node: nodeSchema,
  Status: statusSchema,
  Diagnosis: diagnosisSchema,
  Health: healthSchema,
  SchedulePreview: scheduleSchema,
  Plan: planSchema,
  Error: errorSchema,
};

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** A document that says everything a program needs to call this server. Every path begins with `/api` but `/healthz`. */
export function openApiDocument({ version, routes }: { version: string; routes: readonly Route[] }): Json {
  return {
    openapi: "3.1.1",
    info: {
      title: "Nightshift",
      version,
      description: "The same documents as the command line prints with --json.",
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths: pathsOf(routes),
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "What the home's file `token` holds." },
      },
      schemas: { ...componentSchemas(), JobDocument: inputSchema(jobSchema) },
      responses: {
        Refused: {
          description: "What went wrong, where, and what to do. `code` is for programs.",
          content: { "application/json": { schema: refTo("Error") } },
        },
      },
    },
  };
}

function componentSchemas(): Json {
  const named = registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) named.add(schema, { id });
  const { schemas } = toJSONSchema(named, {
    io: "output",
    unrepresentable: "any",
    metadata: globalRegistry,
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutEnvelope(schema)]));
}

function withoutEnvelope(schema: object): Json {
  const { $schema: _, $id: __, ...rest } = schema as Json;
  return rest;
}

/** A reference where the schema (or its items) has a name, else the schema itself. */
function outputSchema(schema: z.ZodMiniType): Json {
  const name = Object.entries(NAMED).find(([, known]) => known === schema)?.[0];
  if (name !== undefined) return refTo(name);
  const { def } = schema._zod as unknown as { def: { type: string; element?: z.ZodMiniType } };
  if (def.type === "array" && def.element) return { type: "array", items: outputSchema(def.element) };
  return withoutEnvelope(toJSONSchema(schema, { io: "output", unrepresentable: "any" }));
}

function inputSchema(schema: $ZodType): Json {
  return withoutEnvelope(toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
}

function bodySchema(schema: z.ZodMiniType): Json {
  if (schema === (jobSchema as z.ZodMiniType)) return refTo("JobDocument");
  const { def } = schema._zod as unknown as {
    def: { type: string; element?: z.ZodMiniType; options?: z.ZodMiniType[] };
  };
  if (def.type === "array" && def.element) return { type: "array", items: bodySchema(def.element) };
  if (def.type === "union" && def.options) return { anyOf: def.options.map(bodySchema) };
  return inputSchema(schema);
}

function pathsOf(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {
    "/healthz": { get: healthOperation() },
    "/hooks/{name}": { post: hookOperation() },
  };
  for (const route of routes) {
    const path = `/api${route.path}`;
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  paths["/api/openapi.json"] = {
    get: {
      operationId: "openApi",
      summary: "This document.",
      responses: {
        200: { description: "OpenAPI 3.1.", content: { "application/json": { schema: { type: "object" } } } },
        default: { $ref: "#/components/responses/Refused" },
      },
    },
  };
  return paths;
}

function healthOperation(): Json {
  const content = { "application/json": { schema: refTo("Health") } };
  return {
    operationId: "health",
    summary: "Whether this node does its work. Needs no token.",
    security: [],
    responses: {
      200: { description: "Its last pass is less than two minutes old.", content },
      503: { description: "It is stuck, stopping, or cannot reach its store.", content },
    },
  };
}

function hookOperation(): Json {
  const content = { "application/json": { schema: refTo("FiredEvent") } };
  return {
    operationId: "receiveHook",
    summary:
      "A signed message that sets jobs off. Needs no token: its signature is looked at (docs/hooks.md).",
    security: [],
    parameters: [{ name: "name", in: "path", required: true, schema: { type: "string" } }],
    requestBody: { required: true, content: { "*/*": { schema: {} } } },
    responses: {
      200: { description: "It had come before, and started nothing now.", content },
      202: { description: "Each job that listens has a run, or a skipped one with the reason.", content },
      default: { $ref: "#/components/responses/Refused" },
    },
  };
}

function operationOf(route: Route): Json {
  const parameters = parametersOf(route);
  const answers = Object.entries(route.answers).map(([status, one]) => [status, responseOf(one)]);
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: route.body.isRequired,
        content: contentOf(route.body.types, bodySchema(route.body.schema)),
      },
    }),
    responses: { ...Object.fromEntries(answers), default: { $ref: "#/components/responses/Refused" } },
  };
}

function responseOf({ description, schema, type = "application/json" }: RouteAnswer): Json {
  return { description, content: contentOf([type], outputSchema(schema)) };
}

function contentOf(types: readonly MediaType[], schema: Json): Json {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

function parametersOf({ path, query = {}, headers = {} }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inHeaders = Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    description,
    schema: { type: "string" },
  }));
  return [...inPath, ...Object.entries(query).map(queryParameter), ...inHeaders];
}

function queryParameter([name, parameter]: [string, Parameter<unknown>]): Json {
  return {
    name,
    in: "query",
    description: parameter.description,
    ...(parameter.isRequired && { required: true }),
    schema: withoutEnvelope(toJSONSchema(parameter.schema, { io: "input" })),
  };
}
