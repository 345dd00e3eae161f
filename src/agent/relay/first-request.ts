// How a recorded run began: its messages and the tools it was given.

import * as z from "zod/mini";
import { Fault } from "../../kernel/errors.ts";
import type { Message } from "../../records/conversation.ts";
import type { ToolSpec } from "../../records/model.ts";
import { parseCassette } from "./cassette-lines.ts";

const begun = z.looseObject({
  messages: z.array(
    z.discriminatedUnion("role", [
      z.looseObject({ role: z.literal("system"), text: z.string() }),
      z.looseObject({ role: z.literal("user"), text: z.string() }),
    ]),
  ),
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
  ),
});

/** Throws Fault `cassette.missing` for a tape that does not begin with a question of the agent itself. */
export function firstRequest(tape: string): { messages: Message[]; tools: ToolSpec[] } {
  const first = parseCassette(tape).find((line) => line.kind === "call" && line.role === "primary");
  const read = begun.safeParse(first?.kind === "call" ? first.request : undefined);
  if (read.success) return { messages: read.data.messages as Message[], tools: read.data.tools };
  throw new Fault("cassette.missing", "The recording does not hold the beginning of its run", {
    hint: "Record the run anew.",
  });
}
