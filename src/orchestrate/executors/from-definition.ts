// From a definition in TypeScript to an executor: its schemas as JSON Schema, its params parsed, its function called.

import { isFault } from "../../kernel/errors.ts";
import { issuesOf } from "../../records/document-issues.ts";
import type { Executor, ExecutorCall, JsonSchema } from "../../records/executor.ts";
import { promiseOf } from "../../records/executor-config.ts";
import { definitionSchema } from "../../records/executor-schema.ts";
import { knownKeysInCamelCase } from "../../records/snake-case.ts";
import { invalid, makeContract } from "./contract.ts";
import type { DefinedExecutor, ExecutorSchema, ExecutorTools, StandardSchema } from "./define-executor.ts";
import { runFunction } from "./run-function.ts";

/** Throws Fault `executor.invalid` with everything that is wrong. `notes` takes what is read otherwise than written. */
export async function executorOfDefinition(
  definition: DefinedExecutor,
  { source, notes }: { source: string; notes: string[] },
): Promise<Executor> {
  const { input, output, run, ...written } = definition;
  const promise = promiseOf(definition.name, readWritten(written), notes);
  const contract = makeContract(definition.name, {
    ...promise,
    input: await jsonSchemaOf(input, `${definition.name}: input`),
    output: await jsonSchemaOf(output, `${definition.name}: output`),
  });
  return {
    name: definition.name,
    version: promise.version ?? "1",
    kind: "function",
    description: promise.description,
    source,
    contract,
    isInProcess: true,
    async run(call) {
      const given = await parse(input, call.params);
      if ("refused" in given)
        return {
          state: "failed",
          error: { code: "params", message: `${definition.name}: ${given.refused}` },
        };
      return runFunction(() => run.call(definition, given.params, toolsOf(call)), call.ctx, call.clock);
    },
  };
}

/** A function of the embedding program, which says nothing of itself. */
export function executorOfFunction(
  name: string,
  body: (input: { params: Record<string, unknown>; ctx: ExecutorCall["ctx"] }) => unknown,
): Executor {
  return {
    name,
    version: "1",
    kind: "function",
    description: undefined,
    source: "this program",
    contract: makeContract(name, {}),
    isInProcess: true,
    run: ({ params, ctx, clock }) => runFunction(() => body({ params: { ...params }, ctx }), ctx, clock),
  };
}

function readWritten(written: Omit<DefinedExecutor, "input" | "output" | "run">) {
  const schema = definitionSchema();
  const value = knownKeysInCamelCase(written, schema);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error.issues, value, schema);
  const message = issues.map(({ what, hint }) => `${what}; ${hint}`).join(". ");
  throw invalid(`${String(written.name)}: ${message}`, "Correct the definition.");
}

type Given = { params: Record<string, unknown> } | { refused: string };

/** A schema library may turn params into something else (dates, defaults): the function gets that. */
async function parse(input: ExecutorSchema | undefined, params: ExecutorCall["params"]): Promise<Given> {
  if (!isStandard(input)) return { params: { ...params } };
  const answer = (await input["~standard"].validate(params)) as
    | { value: Record<string, unknown>; issues?: undefined }
    | { issues: readonly { message: string; path?: readonly unknown[] }[] };
  if (answer.issues === undefined) return { params: answer.value };
  return { refused: answer.issues.map(({ message, path }) => `${pathText(path)}${message}`).join(". ") };
}

function pathText(path: readonly unknown[] | undefined): string {
  if (!path || path.length === 0) return "";
  const steps = path.map((step) =>
    typeof step === "object" && step !== null && "key" in step ? step.key : step,
  );
  return `${steps.map(String).join(".")}: `;
}

function toolsOf({ ctx }: ExecutorCall): ExecutorTools {
  const { run } = ctx;
  return {
    get signal() {
      return ctx.signal;
    },
    touch: (activity) => ctx.touch(activity),
    log: (text) => ctx.emit("stdout", { text }),
    emit: (kind, data) => ctx.emit(kind, data),
    run,
    attempt: run.attempt,
    idempotencyKey: run.idempotencyKey,
  };
}

/** Throws Fault `executor.invalid` for what no JSON Schema can say. */
async function jsonSchemaOf(schema: ExecutorSchema | undefined, of: string): Promise<JsonSchema | undefined> {
  if (!isStandard(schema)) return schema;
  try {
    const { toJSONSchema } = await import("zod/v4/core");
    const { $schema: _, ...json } = toJSONSchema(schema as never, { io: "input", unrepresentable: "any" });
    return json;
  } catch (error) {
    if (isFault(error)) throw error;
    throw invalid(
      `${of} is a schema of ${schema["~standard"].vendor} that cannot be read as JSON Schema`,
      "Use a zod 4 schema, or write the JSON Schema itself.",
    );
  }
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (
    (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema
  );
}
