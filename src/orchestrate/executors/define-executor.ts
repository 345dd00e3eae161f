// `defineExecutor`: an executor in TypeScript, called in the node's process without serialisation.
//
// I1. A definition is plain data with a brand that survives two copies of this package; nothing is registered by making one.

import type { Effects } from "../../records/job.ts";
import type { Run } from "../../records/run.ts";

const BRAND = Symbol.for("nightshift.executor");

/** A schema of any library that follows Standard Schema (zod, valibot, arktype), as far as it is used here. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): unknown;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** A schema library's schema, or a JSON Schema as a plain object. */
export type ExecutorSchema = StandardSchema | Readonly<Record<string, unknown>>;

/** What a value of a schema is; of a JSON Schema only that it is a map. */
export type ValueOf<Schema> = Schema extends {
  readonly "~standard": { readonly types?: infer Types };
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : never
  : Record<string, unknown>;

/** What a function is given besides its params. */
export interface ExecutorTools {
  /** Aborts on cancel, time-out, lost claim and stop. A function that heeds it ends as it should. */
  signal: AbortSignal;
  /** A sign of life: resets the limit of silence. */
  touch(activity: string): void;
  /** A line of the run's live log. */
  log(text: string): void;
  /** A structured event of the run's live log. */
  emit(kind: string, data: Record<string, unknown>): void;
  run: Pick<Run, "id" | "jobId" | "rootId" | "parentId" | "slot">;
  /** From 1. */
  attempt: number;
  /** The same for every attempt: hand it to what can recognise a repetition. */
  idempotencyKey: string;
}

export interface ExecutorDefinition<
  Input extends ExecutorSchema | undefined = undefined,
  Output extends ExecutorSchema | undefined = undefined,
> {
  /** Letters, digits, `_`, `-` and `.`, at most 64. */
  name: string;
  /** Default `1`. */
  version?: string;
  description?: string;
  /** Of the params; with a schema library's schema they are parsed, too. Absent = anything is taken. */
  input?: Input;
  /** Of the result. */
  output?: Output;
  /** Per attempt: `30s`, or a number of seconds; 0 = none. Default: the task's, else `orchestrator.defaultTimeout`. */
  timeout?: string | number;
  retry?:
    | number
    | {
        max?: number;
        delay?: string | number;
        backoff?: number;
        maxDelay?: string | number;
        on?: string[];
        notOn?: string[];
      };
  resources?: {
    cpu?: number;
    memoryMb?: number;
    gpu?: number | boolean;
    gpuMemoryMb?: number;
    labels?: string | string[];
  };
  /** What a repetition would mean outside. Default `external`. */
  effects?: Effects;
  /** Throwing fails the attempt; an error with `code: "unavailable"` is what `retry.on: [unavailable]` means. */
  run(
    params: Input extends ExecutorSchema ? ValueOf<Input> : Record<string, unknown>,
    tools: ExecutorTools,
  ): Output extends ExecutorSchema ? ValueOf<Output> | Promise<ValueOf<Output>> : unknown;
}

/** A definition of any schema, as registries hold it. */
export interface DefinedExecutor extends Omit<ExecutorDefinition, "input" | "output" | "run"> {
  input?: ExecutorSchema;
  output?: ExecutorSchema;
  run(params: Record<string, unknown>, tools: ExecutorTools): unknown;
}

/**
 * Describes an executor: default-export it (or export it by any name) from a file of `executors/`, or hand it to
 * `openHome({executors})`. It is checked where it is registered.
 */
export function defineExecutor<
  const Input extends ExecutorSchema | undefined = undefined,
  const Output extends ExecutorSchema | undefined = undefined,
>(definition: ExecutorDefinition<Input, Output>): DefinedExecutor {
  return Object.assign({}, definition, { [BRAND]: true }) as unknown as DefinedExecutor;
}

/** What a module may export: a definition, or a plain object of that form. */
export function isDefinition(value: unknown): value is DefinedExecutor {
  if (typeof value !== "object" || value === null) return false;
  if (BRAND in value) return true;
  return (
    "name" in value && typeof value.name === "string" && "run" in value && typeof value.run === "function"
  );
}
