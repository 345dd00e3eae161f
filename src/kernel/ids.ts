// Identifiers that sort by birth: 48 bits of time, 80 bits of randomness, in Crockford's base 32 (lower case).
//
// I1. Two ids made one millisecond apart sort in that order; lists page by id (U1).

import type { Instant } from "./time.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Fills `bytes` with randomness; injected so that only `app/` and `cli/` own a source of it. */
export type Random = (bytes: number) => Uint8Array;

/** A 26-character id, e.g. `01kb7c3v5m8q2n4r6t8w0y2z4a`. */
export function makeId(now: Instant, random: Random): string {
  let text = "";
  for (let shift = 45; shift >= 0; shift -= 5) text += ALPHABET[Math.floor(now / 2 ** shift) % 32];
  for (const byte of random(16)) text += ALPHABET[byte & 31];
  return text;
}

const ID = /^[0-9a-hjkmnp-tv-z]{26}$/;

/** Whether the text has the form `makeId` gives. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** A slug from free text: lower case, `a-z0-9-`, at most 48 characters; `fallback` when nothing readable is left. */
export function slugify(text: string, fallback: string): string {
  const slug = text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 48)
    .replace(/-+$/, "");
  return slug || fallback;
}
