// `run logs [-f]`: the live log, line by line; with `-f` until the run has ended.

import type { Context } from "../app/context.ts";
import { eventDocument, isOpen } from "../app/documents.ts";
import { findRun, runEvents } from "../app/runs.ts";
import { waitForChange } from "../app/wait-for-change.ts";
import { formatInstant } from "../kernel/time.ts";
import type { RunEvent } from "../records/run.ts";
import { agentEventText } from "./agent-event-text.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import type { Io } from "./io.ts";
import { isSet } from "./options.ts";

export const logs: RunCommand = async ({ args: [id = ""], options, io, open }) => {
  const context = await open();
  const { id: runId } = await findRun(context, id);
  let after = await printNew(context, io, { runId, after: 0 });
  if (!isSet(options, "follow")) return EXIT.ok;
  while (isOpen(await findRun(context, runId))) {
    await waitForChange(context, { signal: io.signal });
    if (io.signal.aborted) return EXIT.interrupted;
    after = await printNew(context, io, { runId, after });
  }
  await printNew(context, io, { runId, after });
  return EXIT.ok;
};

async function printNew(context: Context, io: Io, cursor: { runId: string; after: number }): Promise<number> {
  let { after } = cursor;
  for (;;) {
    const events = await runEvents(context, cursor.runId, after);
    for (const event of events) io.out(io.isJson ? JSON.stringify(eventDocument(event)) : eventText(event));
    after = events.at(-1)?.sequence ?? after;
    if (events.length === 0) return after;
  }
}

function eventText(event: RunEvent): string {
  const time = eventDocument(event).at.slice(11, 23).replace("Z", "");
  const told = agentEventText(event);
  if (told !== undefined) return `${time} ${told}`;
  if (typeof event.data.text === "string")
    return `${time} ${event.kind === "stderr" ? "! " : "  "}${event.data.text.trimEnd()}`;
  const facts = Object.entries(event.data)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${factText(name, value)}`);
  return `${time} · ${event.kind}${facts.length > 0 ? ` ${facts.join(" ")}` : ""}`;
}

/** Instants as people read them; everything else as it is. */
function factText(name: string, value: unknown): string {
  if (typeof value === "number" && name.endsWith("At")) return formatInstant(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
