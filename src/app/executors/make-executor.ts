// From a description and an attempt to an executor.

import { makeContract } from "../../orchestrate/executors/contract.ts";
import type { Executor, ExecutorKind, JsonSchema } from "../../records/executor.ts";
import type { ExecutorPromise } from "../../records/executor-config.ts";
import type { Attempt } from "./room.ts";

export interface Described extends Partial<ExecutorPromise> {
  name: string;
  kind: ExecutorKind;
  source: string;
  input?: JsonSchema | undefined;
  output?: JsonSchema | undefined;
  shellParams?: readonly string[];
}

/** Throws Fault `executor.invalid` for a contract that cannot be meant. */
export function makeExecutor(described: Described, run: Attempt): Executor {
  const { name, kind, source, version, description } = described;
  return {
    name,
    version: version ?? "1",
    kind,
    description,
    source,
    contract: makeContract(name, described),
    isInProcess: false,
    run,
  };
}

/** The second's words where it has any, else the first's. */
export function overlaid<Parts extends object>(
  below: Parts,
  above: { readonly [Key in keyof Parts]?: Parts[Key] | undefined },
): Parts {
  const said = Object.entries(above).filter(([, value]) => value !== undefined);
  return { ...below, ...Object.fromEntries(said) };
}
