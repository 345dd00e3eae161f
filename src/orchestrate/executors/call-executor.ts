// One call of an executor, by whoever wants it done: params checked, the attempt made, its result checked.
//
// I1. What does not fit is refused before anything begins (law 8): nothing was spent, nothing happened.
// I2. A result that breaks its contract fails the attempt, with what it said.
// I3. Never rejects: a bug of an executor is an outcome too.

import { messageOf } from "../../kernel/errors.ts";
import type { Executor, ExecutorCall, ExecutorContract } from "../../records/executor.ts";
import type { Outcome } from "../../records/outcome.ts";
import { schemaIssues } from "../value-schema.ts";

/**
 * Check → run → check. Codes of failures of its own: `params` (before anything began), `schema` (the result),
 * `internal` (the executor broke its port).
 */
export async function callExecutor(executor: Executor, call: ExecutorCall): Promise<Outcome> {
  const { contract } = executor;
  const params = withDefaults(contract, call.params);
  const problem = whyParamsRefused(executor, params);
  if (problem !== undefined) return failed("params", problem);
  try {
    const outcome = await executor.run(params === call.params ? call : { ...call, params });
    return contract.output === undefined || outcome.state !== "succeeded"
      ? outcome
      : checked(outcome, { ...executor, output: contract.output });
  } catch (error) {
    return failed("internal", messageOf(error));
  }
}

/** What an executor has against these params, in a sentence; undefined = it takes them. Defaults count as given. */
export function whyParamsRefused(
  { name, contract }: Pick<Executor, "name" | "contract">,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  if (contract.input === undefined) return undefined;
  const issues = schemaIssues(contract.input, withDefaults(contract, given), []);
  if (issues.length === 0) return undefined;
  return `${name}: ${issues.map(({ what, hint }) => `${what}; ${hint}`).join(". ")}`;
}

/** The params with the schema's defaults of what was left out. The same object where nothing was. */
function withDefaults({ input }: ExecutorContract, params: ExecutorCall["params"]): ExecutorCall["params"] {
  const properties = input?.properties as Record<string, { default?: unknown } | boolean> | undefined;
  if (!properties) return params;
  let filled: Record<string, unknown> | undefined;
  for (const name in properties) {
    const property = properties[name];
    if (typeof property !== "object" || property.default === undefined || Object.hasOwn(params, name))
      continue;
    filled ??= { ...params };
    filled[name] = property.default;
  }
  return filled ?? params;
}

function checked(
  outcome: Extract<Outcome, { state: "succeeded" }>,
  { name, output }: { name: string; output: Readonly<Record<string, unknown>> },
): Outcome {
  const issues = schemaIssues(output, outcome.result ?? null, []);
  if (issues.length === 0) return outcome;
  const { isTruncated, usage } = outcome;
  return {
    ...failed(
      "schema",
      `the result of ${name} breaks its contract: ${issues.map(({ what }) => what).join(", ")}`,
    ),
    ...(outcome.output !== "" && { output: outcome.output }),
    ...(isTruncated !== undefined && { isTruncated }),
    ...(usage && { usage }),
  };
}

function failed(code: string, message: string): Extract<Outcome, { state: "failed" }> {
  return { state: "failed", error: { code, message } };
}
