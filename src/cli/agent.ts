// `agent "PROMPT"`: one agent run now, in this process, told to the terminal as it goes.

import { runHere } from "../app/node.ts";
import { readOriginFrom } from "../app/origin.ts";
import { queueAgentRun } from "../app/queue-agent-run.ts";
import { showRun } from "../app/runs.ts";
import { Fault } from "../kernel/errors.ts";
import { slugify } from "../kernel/ids.ts";
import type { JobDocument } from "../records/job.ts";
import { makeAgentLines } from "./agent-lines.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { fieldsFromOptions } from "./job-draft.ts";
import { textOption } from "./options.ts";
import { endText, exitOf } from "./run-end.ts";

export const agent: RunCommand = async ({ args, options, io, open }) => {
  const prompt = await promptFrom(args, io);
  const fields = fieldsFromOptions(options, prompt);
  const context = await open();
  const origin = readOriginFrom(context, textOption(options, "origin"));
  const draft: JobDocument = {
    id: slugify(fields.name ?? prompt.slice(0, 50), "agent"),
    // A person who asks for work here and now means this folder, and reads the answer from the terminal.
    workdir: io.cwd,
    deliver: [],
    ...fields,
    run: fields.run ?? {},
    ...(origin && { origin }),
  };
  const { run, warnings } = await queueAgentRun(context, draft, { isAttended: true, isForHere: true });
  for (const warning of warnings) io.note(warning);
  const lines = makeAgentLines(io);
  await runHere(
    { context, agent: { isAttended: true, onEvent: lines.on } },
    { id: run.id, signal: io.signal },
  );
  lines.end();
  const ended = await showRun(context, run.id);
  print(io, ended, () => endText(ended, { isTold: lines.hasSpoken }));
  return io.signal.aborted ? EXIT.interrupted : exitOf(ended);
};

async function promptFrom(words: readonly (string | undefined)[], io: Io): Promise<string> {
  const text = words.filter(Boolean).join(" ");
  const prompt = text === "-" ? await io.readStdin() : text;
  if (prompt.trim() !== "") return prompt;
  throw new Fault("input.usage", "There is no prompt.", {
    hint: 'Write nightshift agent "what to do", or - to read it from standard input.',
  });
}
