// Look-alikes: letters of other scripts, and digits, read as the Latin letter that they resemble.
//
// I1. Only ever an additional view: text in Greek or Cyrillic is also scanned as what it is.
// @source Unicode UTS #39 confusables; the ones that are used in practice.

import { replaceInView, textOf, type View } from "./view.ts";

/** Each look-alike next to the letter it passes for, in folded (lower-case) form. */
const PAIRS =
  "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw вb кk мm нh тt пn ӏl гr зz ьb " +
  "αa εe ιi οo ρp σo ςc υu νv κk τt χx ηn ωw βb γy μu λl δd " +
  "ɑa ɡg ɩi ʀr ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz " +
  "օo սu հh ոn ցg զq ⲟo ꓲi ꓳo ⅼl ℮e";

/** By UTF-16 unit; 0 = no look-alike. All are single units, and so is what they resemble. */
const LATIN = new Uint16Array(0x10000);
for (const [like = "", latin = ""] of PAIRS.split(" ")) LATIN[like.charCodeAt(0)] = latin.charCodeAt(0);

/** The view with look-alikes of other scripts in Latin; undefined when it holds none. */
export function asLatin({ text, offsets }: View): View | undefined {
  if (!offsets) return undefined;
  let units: Uint16Array | undefined;
  for (let place = 0; place < text.length; place++) {
    const latin = LATIN[text.charCodeAt(place)] ?? 0;
    if (latin === 0) continue;
    units ??= unitsOf(text);
    units[place] = latin;
  }
  return units && { text: textOf(units, text.length), offsets };
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  for (let place = 0; place < text.length; place++) units[place] = text.charCodeAt(place);
  return units;
}

const DIGITS = new Map(
  [..."0o1i3e4a5s7t@a$s!i"].map((_, index, all) => [all[index * 2], all[index * 2 + 1]]),
);
/**
 * From the first digit of a word on, its letters before it in the group: `prev1ous`, not `web01` or `ed25519`. It looks
 * back from there, for a word could begin at every letter.
 */
const DISGUISED = /[013457@$](?<=(?<![\w.$@/-])([a-z]{0,12}).)[a-z013457@$]{2,20}(?![\w.@/-])/g;

/** The view with digits inside words as the letters they resemble; undefined when there are none. */
export function withoutDigits(view: View): View | undefined {
  return replaceInView(view, DISGUISED, ([word, before]) =>
    /^.[a-z]/.test(word) || (before && /[a-z]/.test(word))
      ? word.replace(/[013457@$]/g, (digit) => DIGITS.get(digit) ?? digit)
      : word,
  );
}
