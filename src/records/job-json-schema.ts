// JSON Schemas for editors, made from the schemas that read the documents, so the two cannot differ.
//
// I1. Loaded only by the build and by the surface that prints them; never on the start path.

import { toJSONSchema } from "zod/v4/core";
import { configSchema } from "./config-schema.ts";
import { jobSchema } from "./job-schema.ts";

const ENVELOPE = { $schema: "https://json-schema.org/draft/2020-12/schema" };

/** The JSON Schema of `jobs/<id>.yaml`, as a person may write it (shorthands included). */
export function jsonSchemaOfJob(): Record<string, unknown> {
  const { $schema: _, ...schema } = toJSONSchema(jobSchema, { io: "input", unrepresentable: "any" });
  return { ...ENVELOPE, title: "Nightshift job", ...schema };
}

/** The JSON Schema of `config.yaml`. */
export function jsonSchemaOfConfig(): Record<string, unknown> {
  const { $schema: _, ...schema } = toJSONSchema(configSchema(), { io: "input", unrepresentable: "any" });
  return { ...ENVELOPE, title: "Nightshift config", ...schema };
}
