// Escapes: HTML entities, percent-encoding, `\x72`, `\u0072`, `\162` read as the characters they stand for.
//
// I1. Only printable ASCII and line ends are put in: that is what an attack is spelt with; other bytes stay as they are.

import { foldPoint } from "./fold.ts";
import { replaceInView, type View } from "./view.ts";

/** Encodings may be nested; three layers are taken off. */
const MAX_LAYERS = 3;

const ESCAPE =
  /&#(?:x([0-9a-f]{1,6})|(\d{1,7}));?|&([a-z]{2,6});|%([0-9a-f]{2})|\\x([0-9a-f]{2})|\\u\{?([0-9a-f]{4,6})\}?|\\([0-3][0-7]{2})/g;

const ENTITIES: Readonly<Record<string, string>> = {
  ...{
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: " ",
    sol: "/",
    bsol: "\\",
    period: ".",
    tilde: "~",
  },
  ...{ colon: ":", semi: ";", num: "#", dollar: "$", lpar: "(", rpar: ")", vert: "|", ast: "*", lowbar: "_" },
  ...{
    newline: "\n",
    tab: "\t",
    shy: "",
    zwnj: "",
    zwj: "",
    equals: "=",
    commat: "@",
    hyphen: "-",
    dash: "-",
  },
};

/** The view with its escapes decoded; undefined when it holds none. */
export function decodeEscapes(view: View): View | undefined {
  if (!/[&%\\]/.test(view.text)) return undefined;
  let decoded: View | undefined;
  for (let layer = 0; layer < MAX_LAYERS; layer++) {
    const next = replaceInView(decoded ?? view, ESCAPE, decodeOne);
    if (!next) break;
    decoded = next;
  }
  return decoded;
}

function decodeOne([whole, hexEntity, decimal, name, percent, hex, unicode, octal]: RegExpExecArray): string {
  if (name !== undefined) return ENTITIES[name] ?? whole;
  const digits = hexEntity ?? percent ?? hex ?? unicode;
  const point =
    digits === undefined
      ? Number.parseInt(decimal ?? octal ?? "", decimal ? 10 : 8)
      : Number.parseInt(digits, 16);
  const isPlain = (point >= 0x20 && point < 0x7f) || point === 0x0a || point === 0x09;
  if (isPlain) return foldPoint(point);
  // Entities and \u may also spell look-alikes and zero-width characters.
  const isWide = percent === undefined && hex === undefined && octal === undefined;
  return isWide && point > 0xa0 && point < 0x110000 && (point < 0xd800 || point > 0xdfff)
    ? foldPoint(point)
    : whole;
}
