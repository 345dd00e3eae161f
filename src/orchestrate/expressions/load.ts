// Loads the expression language when the first workflow needs it.

import type { Compiler } from "./expression.ts";

/** A compiler of one's own. CEL's package is loaded once a process. */
export async function loadCompiler(): Promise<Compiler> {
  const { makeCompiler } = await import("./expression.ts");
  return makeCompiler();
}
