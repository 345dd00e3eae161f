// A run's tape, where the config asks for one (`models.record`): kept in memory, written beside the output at the end.

import { type CassetteRecorder, recordCassette } from "../../agent/relay/record-cassette.ts";
import { messageOf } from "../../kernel/errors.ts";
import type { Redact } from "../../kernel/redact.ts";
import type { CallModel } from "../../records/model.ts";
import type { Context } from "../context.ts";

/** Every call repeats the conversation so far: beyond this a tape costs more than it tells. */
const MAX_CHARACTERS = 64_000_000;

export interface Tape extends CassetteRecorder {
  text(): string;
}

/** Undefined where nothing is to be recorded. */
export function recordCalls(
  { config, clock, log }: Pick<Context, "config" | "clock" | "log">,
  callModel: CallModel,
  { runId, redact }: { runId: string; redact: Redact },
): Tape | undefined {
  if (!config.models.record) return undefined;
  const lines: string[] = [];
  let characters = 0;
  const recorder = recordCassette(callModel, {
    runId,
    redact,
    clock,
    report: (error) => log.warn("recording-ended", { runId, error: messageOf(error) }),
    write(line) {
      characters += line.length;
      if (characters > MAX_CHARACTERS) throw new Error(`the recording is over ${MAX_CHARACTERS} characters`);
      lines.push(line);
    },
  });
  return { ...recorder, text: () => lines.join("") };
}
