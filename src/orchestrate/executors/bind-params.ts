// Templates of executors (`extends:`): another one's work with params of its own (@source seed 003 §2.3).
//
// I1. A bound param is part of the new executor: a task may not give it another value. A default may be replaced.

import type { Executor, ExecutorCall, JsonSchema } from "../../records/executor.ts";
import type { ExecutorPromise } from "../../records/executor-config.ts";
import { whyParamsRefused } from "./call-executor.ts";
import { invalid, makeContract } from "./contract.ts";

export interface Binding extends ExecutorPromise {
  name: string;
  source: string;
  /** Bound (I1). */
  params: Readonly<Record<string, unknown>>;
  defaults: Readonly<Record<string, unknown>>;
  /** Instead of what follows from the base. */
  input?: JsonSchema | undefined;
  output?: JsonSchema | undefined;
}

/** The base with params bound: its input shrinks by them. Throws Fault `executor.invalid` where the base refuses one. */
export function bindParams(base: Executor, binding: Binding): Executor {
  const { params, defaults } = binding;
  requireKnown(base, binding);
  const { contract } = base;
  const own = makeContract(binding.name, {
    ...binding,
    timeoutMs: binding.timeoutMs ?? contract.timeoutMs,
    retry: binding.retry ?? contract.retry,
    effects: binding.effects ?? contract.effects,
    input: binding.input ?? shrunk(contract.input, { params, defaults }),
    output: binding.output ?? contract.output,
    shellParams: contract.shellParams.filter((name) => !Object.hasOwn(params, name)),
  });
  return {
    ...base,
    name: binding.name,
    version: binding.version ?? base.version,
    description: binding.description ?? base.description,
    source: binding.source,
    contract: binding.resources ? own : { ...own, resources: contract.resources },
    run: (call: ExecutorCall) => base.run({ ...call, params: { ...defaults, ...call.params, ...params } }),
  };
}

/** Each given value on its own must be one that the base takes. */
function requireKnown(base: Executor, { name, params, defaults }: Binding): void {
  const { input } = base.contract;
  if (!input) return;
  const contract = { ...base.contract, input: { ...input, required: [] } };
  const problem = whyParamsRefused({ name: base.name, contract }, { ...defaults, ...params });
  if (problem !== undefined) throw invalid(`${name} extends ${problem}`, "Correct its params.");
}

function shrunk(
  input: JsonSchema | undefined,
  { params, defaults }: Pick<Binding, "params" | "defaults">,
): JsonSchema {
  const properties = { ...(input?.properties as Record<string, unknown> | undefined) };
  for (const [name, value] of Object.entries(params)) {
    // Where unknown params are refused the name goes; elsewhere only its own value is taken.
    if (input?.additionalProperties === false) delete properties[name];
    else properties[name] = { enum: [value] };
  }
  for (const [name, value] of Object.entries(defaults))
    properties[name] = { ...(properties[name] as Record<string, unknown> | undefined), default: value };
  const required = Array.isArray(input?.required) ? input.required.map(String) : [];
  return {
    type: "object",
    ...input,
    properties,
    required: required.filter((name) => !Object.hasOwn(params, name) && !Object.hasOwn(defaults, name)),
  };
}
