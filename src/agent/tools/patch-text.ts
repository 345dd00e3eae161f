// An exact change of a text's bytes. Pure.
//
// I1. Nothing is guessed: what is not there exactly is refused, with the lines where something like it stands.
// I2. Bytes outside the replaced places stay as they are, whatever their encoding.
// I3. In a file whose line breaks are all CRLF, the line breaks of `old` and `new` are meant as CRLF.

import { REDACTED } from "../../kernel/redact.ts";

const MAX_CANDIDATES = 5;

export interface Patch {
  old: string;
  new: string;
  /** Every place instead of the only one. */
  isForAll: boolean;
}

export type Patched = { bytes: Buffer; lines: number[] } | { error: string };

/** `lines` = where each replaced place began, from 1, in the text before. */
export function patchText(bytes: Buffer, patch: Patch): Patched {
  if (patch.old === patch.new) return { error: "`old` and `new` are the same: there is nothing to change." };
  const { old, replacement } = needles(bytes, patch);
  const places = placesOf(bytes, old);
  if (places.length === 0) return { error: missingSentence(bytes.toString("utf8"), patch.old) };
  const lines = linesAt(bytes, places);
  if (places.length > 1 && !patch.isForAll) {
    const where = lines.length > 20 ? `${lines.slice(0, 20).join(", ")}, …` : lines.join(", ");
    return {
      error: `\`old\` stands ${places.length} times in the file, at lines ${where}. Add lines around it to make it unique, or set replaceAll.`,
    };
  }
  return { bytes: replaced(bytes, places, { length: old.length, replacement }), lines };
}

function needles(bytes: Buffer, patch: Patch): { old: Buffer; replacement: Buffer } {
  const isCrlf = patch.old.includes("\n") || patch.new.includes("\n") ? isAllCrlf(bytes) : false;
  const convert = (text: string) => Buffer.from(isCrlf ? text.replace(/\r?\n/g, "\r\n") : text, "utf8");
  return { old: convert(patch.old), replacement: convert(patch.new) };
}

function isAllCrlf(bytes: Buffer): boolean {
  let found = false;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at - 1] !== 13) return false;
    found = true;
  }
  return found;
}

/** Starts of `needle`, none overlapping another. */
function placesOf(bytes: Buffer, needle: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length))
    places.push(at);
  return places;
}

function linesAt(bytes: Buffer, places: readonly number[]): number[] {
  let line = 1;
  let position = 0;
  return places.map((place) => {
    for (; position < place; position++) if (bytes[position] === 10) line += 1;
    return line;
  });
}

function replaced(
  bytes: Buffer,
  places: readonly number[],
  { length, replacement }: { length: number; replacement: Buffer },
): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(bytes.subarray(from, place), replacement);
    from = place + length;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

/** Lines that equal one of `old`'s lines but for their spaces: where the model most likely means. */
function missingSentence(text: string, old: string): string {
  if (old.includes(REDACTED) && !text.includes(REDACTED))
    return `\`old\` holds ${REDACTED}, which stands for a secret that you were not shown. Choose lines without it.`;
  const shape = (line: string) => line.replace(/\s+/g, " ").trim();
  const wanted = old
    .split("\n")
    .map(shape)
    .find((line) => line !== "");
  const candidates = text
    .split("\n")
    .flatMap((line, index) => (wanted !== undefined && shape(line).includes(wanted) ? [index + 1] : []));
  if (candidates.length === 0) return "`old` is not in the file; read it again and copy the text exactly.";
  const shown = candidates.slice(0, MAX_CANDIDATES).join(", ");
  const more = candidates.length > MAX_CANDIDATES ? ", …" : "";
  return `\`old\` is not in the file as written. Its first line stands, with other spaces or followed by other lines, at line ${shown}${more}: read there and copy the text exactly.`;
}
