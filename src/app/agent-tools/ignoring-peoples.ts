// Tools whose arguments are read as models write them, without what belongs to people.

import type { Tool } from "../../records/tool.ts";
import { normaliseArguments } from "./normalise-arguments.ts";

/** The tool, told what of its arguments was left out. `allowed` = keys of people's that this tool does take. */
export function ignoringPeoples(tool: Tool, allowed: readonly string[] = []): Tool {
  return {
    ...tool,
    prepare(given) {
      const { value, notes } = normaliseArguments(given, allowed);
      const prepared = tool.prepare(value);
      if (!prepared.ok || notes.length === 0) return prepared;
      const { call } = prepared;
      return {
        ok: true,
        call: {
          ...call,
          async run(context) {
            const result = await call.run(context);
            const own = Array.isArray(result.notes) ? result.notes : [];
            return { ...result, notes: [...notes, ...own] };
          },
        },
      };
    },
  };
}
