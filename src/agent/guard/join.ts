// Pieces put together again: shell quoting inside words, string concatenation, markup between letters, spaced letters.

import { replaceInView, type View } from "./view.ts";

/**
 * Signs that a word was taken apart on purpose: a quote or backslash inside it, `" + "`, `$IFS`, `{a,b}`. Each begins with
 * its rare sign and looks back from there: a pattern that begins with a letter is tried at every letter.
 */
const TAKEN_APART =
  /["'](?:(?<=[a-z0-9/].)["'][a-z/]|[ \t]*[+.][ \t]*["'])|"(?<=[a-z/].)[a-z/]|\\(?<=(?<![\\:\w])[a-z/]{1,12}.)[a-z/]|\$\{?ifs|\{[a-z]{2,12},[^\s{}]/;

const SEAMS =
  /["'][ \t]{0,4}[+.][ \t]{0,4}["']|\$\{ifs\}(?:\$\d)?|\$ifs(?:\$\d)?|\{([a-z/][^\s{},]{0,40}(?:,[^\s{},]{1,80}){1,6})\}|\\(?=[a-z/])|["']/g;

/** The view with words put together as a shell or a script would; undefined when nothing was taken apart. */
export function joinWords(view: View): View | undefined {
  if (!TAKEN_APART.test(view.text)) return undefined;
  return replaceInView(view, SEAMS, ([seam, braces]) => {
    if (braces !== undefined) return braces.replaceAll(",", " ");
    return seam.startsWith("$") ? " " : "";
  });
}

const MARKUP = /<\/?[a-z][^<>\n]{0,80}>/g;

/** The view without HTML tags between words; undefined when it holds none. */
export function withoutMarkup(view: View): View | undefined {
  return view.text.includes("<") ? replaceInView(view, MARKUP, () => "") : undefined;
}

/** From the sign behind the first letter on. */
const SPACED = /[ ._\-*|/,](?<=(?<![a-z0-9])[a-z0-9].)(?:[a-z0-9][ ._\-*|/,]){3,}[a-z0-9](?![a-z0-9])/g;

/** The view with `s p a c e d` letters pulled together; undefined when there are none. */
export function pullTogether(view: View): View | undefined {
  return replaceInView(view, SPACED, ([run]) => run.replace(/[^a-z0-9]/g, ""));
}

/** Variables that hold a few letters, `a=ca; b=t; $a$b`, are put in where they are used. */
export function withVariables(view: View): View | undefined {
  if (!view.text.includes("$") || !view.text.includes("=")) return undefined;
  const values = new Map<string, string>();
  for (const [, name = "", value = ""] of view.text.matchAll(SHORT_VARIABLE)) values.set(name, value);
  if (values.size === 0) return undefined;
  return replaceInView(view, USE, ([use, name = ""]) => values.get(name) ?? use);
}

const SHORT_VARIABLE = /(?<![\w$-])([a-z_]\w{0,15})=["']?([a-z/.~-]{1,12})["']?(?=[\s;&]|$)/g;
const USE = /\$\{?([a-z_]\w{0,15})\}?/g;

/** Letters only, full stops kept as borders: for phrases whose spaces were moved or taken away. */
export function squeeze({ text, offsets }: View): View {
  const kept = Buffer.allocUnsafe(text.length);
  const origins = new Int32Array(text.length);
  let length = 0;
  for (let place = 0; place < text.length; place++) {
    const unit = text.charCodeAt(place);
    if (IS_KEPT[unit] !== 1) continue;
    kept[length] = unit;
    origins[length] = offsets?.[place] ?? place;
    length += 1;
  }
  return { text: kept.toString("latin1", 0, length), offsets: origins.subarray(0, length) };
}

/** What is kept, by UTF-16 unit; what is beyond the table is not. */
const IS_KEPT = new Uint8Array(128);
for (const sign of "abcdefghijklmnopqrstuvwxyz.!?;:") IS_KEPT[sign.charCodeAt(0)] = 1;
