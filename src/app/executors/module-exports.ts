// What a JavaScript module offers: definitions, wherever it exports them, or one function by its name.

import { invalid } from "../../orchestrate/executors/contract.ts";
import { type DefinedExecutor, isDefinition } from "../../orchestrate/executors/define-executor.ts";

type Exports = Record<string, unknown>;

/** Every definition among the exports; a list of them counts as each. */
export function definitionsIn(exports: Exports): DefinedExecutor[] {
  const found = new Set<DefinedExecutor>();
  for (const value of Object.values(withCommonJs(exports)))
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isDefinition(one)) found.add(one);
  return [...found];
}

/**
 * What `module:` and `function:` of an entry mean: a definition, or a plain function `(params, tools)`. Throws Fault
 * `executor.invalid`.
 */
export function exportedAs(
  exports: Exports,
  { module, name }: { module: string; name: string | undefined },
): DefinedExecutor | DefinedExecutor["run"] {
  const all = withCommonJs(exports);
  const found =
    name === undefined ? all.default : (all[name] ?? definitionsIn(exports).find((one) => one.name === name));
  if (isDefinition(found)) return found;
  if (typeof found === "function") return found as DefinedExecutor["run"];
  const names = Object.keys(all).filter((key) => typeof all[key] === "function" || isDefinition(all[key]));
  throw invalid(
    `${module} exports no ${name === undefined ? "default function" : `function ${name}`}`,
    names.length > 0 ? `It exports ${names.join(", ")}.` : "Export the function.",
  );
}

/** `module.exports = {…}` arrives as the default export. */
function withCommonJs(exports: Exports): Exports {
  const { default: whole } = exports;
  if (typeof whole !== "object" || whole === null || isDefinition(whole) || Array.isArray(whole))
    return exports;
  return { ...(whole as Exports), ...exports };
}
