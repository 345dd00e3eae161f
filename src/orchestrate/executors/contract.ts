// What an executor promises, made of what was written about it, and refused where it cannot be meant (registration).

import { Fault, nearestWord } from "../../kernel/errors.ts";
import type { ExecutorContract, JsonSchema } from "../../records/executor.ts";
import type { ExecutorPromise } from "../../records/executor-config.ts";
import { resolveResources } from "../../records/workflow-resolve.ts";

export interface ContractParts extends Partial<ExecutorPromise> {
  input?: JsonSchema | undefined;
  output?: JsonSchema | undefined;
  shellParams?: readonly string[] | undefined;
}

/** Throws Fault `executor.invalid` for a schema that no value could be judged by. */
export function makeContract(name: string, parts: ContractParts): ExecutorContract {
  const { input, output, timeoutMs, retry, resources = {}, effects = "external", shellParams = [] } = parts;
  for (const [key, schema] of Object.entries({ input, output })) {
    const problem = schema && schemaProblem(schema, key);
    if (problem) throw invalid(`${name}: ${problem}`, "Correct its JSON Schema.");
  }
  const inputType = input?.type;
  if (inputType !== undefined && inputType !== "object")
    throw invalid(`${name}: input describes a ${String(inputType)}`, "Params are a map: write type: object.");
  return { input, output, timeoutMs, retry, resources: resolveResources(resources), effects, shellParams };
}

/** A registration that cannot count, and what to do about it. */
export function invalid(message: string, hint: string): Fault {
  return new Fault("executor.invalid", message, { hint });
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

/** What is wrong with a JSON Schema, in a sentence, as far as value-schema.ts reads it. */
function schemaProblem(schema: unknown, path: string): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isMap(schema)) return `${path} is no JSON Schema`;
  const unknownType = [schema.type]
    .flat()
    .find((type) => type !== undefined && !TYPES.includes(String(type)));
  if (unknownType !== undefined) {
    const near = nearestWord(String(unknownType), TYPES);
    return `${path}.type "${String(unknownType)}" is no type${near ? `; did you mean "${near}"?` : ""}`;
  }
  if (schema.enum !== undefined && (!Array.isArray(schema.enum) || schema.enum.length === 0))
    return `${path}.enum is no list of values`;
  if (schema.required !== undefined && !isTextList(schema.required))
    return `${path}.required is no list of names`;
  if (schema.properties !== undefined && !isMap(schema.properties)) return `${path}.properties is no map`;
  return partProblem(schema, path);
}

function partProblem(schema: Record<string, unknown>, path: string): string | undefined {
  const parts = [
    ...Object.entries((schema.properties ?? {}) as Record<string, unknown>).map(([name, part]) => [
      `${path}.${name}`,
      part,
    ]),
    ...(isMap(schema.items) ? [[`${path}.items`, schema.items]] : []),
  ] as [string, unknown][];
  for (const [at, part] of parts) {
    const problem = schemaProblem(part, at);
    if (problem) return problem;
  }
  return undefined;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
