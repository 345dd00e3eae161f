// What stands for a secret that a model was not shown must not be written over that secret. Pure.

import { REDACTED } from "../../kernel/redact.ts";

/** Whether a text holds the mark at all: only then is the file worth reading. */
export function holdsMark(text: string): boolean {
  return text.includes(REDACTED);
}

/** A sentence where the change would put more marks into a file than it has; undefined where it would not. */
export function refuseMarks(before: Uint8Array, after: Uint8Array): string | undefined {
  if (countMarks(after) <= countMarks(before)) return undefined;
  return `The new text holds ${REDACTED}, which stands for a secret in this file that you were not shown; writing it would destroy the secret. Nothing was changed. Use patch_file on other lines, and leave the lines with ${REDACTED} as they are.`;
}

function countMarks(bytes: Uint8Array): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1").split(REDACTED)
    .length;
}
