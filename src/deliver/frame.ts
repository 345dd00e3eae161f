// A line above and a line below every result, as the configuration words them. Pure.
//
// I1. People get it; what programs read (a webhook, a topic, standard output) stays verbatim.
// I2. Times are in the job's own zone.

import { Fault } from "../kernel/errors.ts";
import type { Run } from "../records/run.ts";
import { formatInZone, type JobFacts } from "./messages.ts";

/** `deliver.header` and `deliver.footer`; words in braces are filled in. */
export interface Frame {
  header?: string | undefined;
  footer?: string | undefined;
}

const WORDS = {
  job: ({ job }) => job.id,
  name: ({ job }) => job.name,
  run: ({ run }) => run.id,
  time: ({ job, run }) => formatInZone(run.slot ?? run.startedAt ?? run.createdAt, job.timezone),
} satisfies Record<string, (facts: FrameFacts) => string>;
const WORD = /\{(\w*)\}/g;

export interface FrameFacts {
  job: JobFacts;
  run: Run;
}

/** Throws `config.invalid` for a word that has no meaning. */
export function parseFrame(frame: Frame): Frame {
  for (const [key, text = ""] of Object.entries(frame)) {
    const unknown = [...text.matchAll(WORD)].find(([, word = ""]) => !Object.hasOwn(WORDS, word));
    if (!unknown) continue;
    throw new Fault("config.invalid", `deliver.${key} names ${unknown[0]}, which means nothing`, {
      hint: `Use ${Object.keys(WORDS)
        .map((word) => `{${word}}`)
        .join(", ")}.`,
    });
  }
  return frame;
}

/** The frame of one result. */
export function fillFrame(frame: Frame, facts: FrameFacts): Frame {
  const fill = (text: string | undefined) =>
    text?.replace(WORD, (written, word: string) =>
      Object.hasOwn(WORDS, word) ? WORDS[word as keyof typeof WORDS](facts) : written,
    );
  return { header: fill(frame.header), footer: fill(frame.footer) };
}
