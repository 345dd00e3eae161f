// Hidden pieces: base64, hex, tag characters and variation selectors that spell a text of their own.
//
// I1. A piece counts only if it decodes to readable text; keys, digests and images do not.

/** A decoded piece and where its carrier begins in the original. */
export interface Piece {
  text: string;
  offset: number;
}

/** Readable texts that other characters carry. */
export function hiddenPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  const look = (carrier: string, offset: number, decode: (carrier: string) => string) => {
    const decoded = decode(carrier);
    if (isReadable(decoded)) pieces.push({ text: decoded, offset });
  };
  for (const [from, to] of base64Runs(text)) look(text.slice(from, to), from, decodeBase64);
  for (const [pattern, decode] of CARRIERS)
    for (const match of text.matchAll(pattern)) look(match[0], match.index, decode);
  return pieces;
}

/** Shorter ones carry no sentence. */
const MIN_BASE64 = 14;

/** Signs of base64 in both alphabets, by UTF-16 unit; what is beyond the table is none. */
const IS_BASE64 = new Uint8Array(128);
for (const sign of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
  IS_BASE64[sign.charCodeAt(0)] = 1;

/** Stretches of such signs. By hand: a pattern tries each place of each word anew. */
function base64Runs(text: string): (readonly [from: number, to: number])[] {
  const runs: (readonly [number, number])[] = [];
  let from = 0;
  for (let place = 0; place <= text.length; place++) {
    if (place < text.length && IS_BASE64[text.charCodeAt(place)] === 1) continue;
    if (place - from >= MIN_BASE64) runs.push([from, place]);
    from = place + 1;
  }
  return runs;
}

const CARRIERS: readonly (readonly [pattern: RegExp, decode: (carrier: string) => string])[] = [
  [/(?<![0-9A-Za-z])(?:(?:0x)?[0-9a-fA-F]{2}[\s:,]{0,2}){6,}/g, decodeHex],
  [/[\u{e0020}-\u{e007e}]{4,}/gu, decodeTags],
  [/[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu, decodeSelectors],
];

function decodeBase64(carrier: string): string {
  // A sentence's words are letters only; encoded text has digits or both cases.
  if (!/[a-z]/.test(carrier) || !/[A-Z0-9+/]/.test(carrier)) return "";
  const bytes = Buffer.from(carrier, "base64");
  if (isNoise(bytes)) return "";
  // UTF-16, as PowerShell takes it, has a NUL behind each letter.
  return bytes.toString("utf8").replaceAll("\0", "");
}

function decodeHex(carrier: string): string {
  return Buffer.from(carrier.replace(/0x|[\s:,]/g, ""), "hex").toString("utf8");
}

function decodeTags(carrier: string): string {
  return [...carrier].map((tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000)).join("");
}

function decodeSelectors(carrier: string): string {
  const bytes = [...carrier].map((selector) => {
    const point = selector.codePointAt(0) ?? 0;
    return point < 0x10000 ? point - 0xfe00 : point - 0xe0100 + 16;
  });
  return Buffer.from(bytes).toString("utf8");
}

/**
 * Bytes that can be told to be no readable text before they are made a string, as those of a path or a key. Each counted
 * byte becomes an odd character: a control, or what stands for broken UTF-8.
 */
function isNoise(bytes: Uint8Array): boolean {
  let odd = 0;
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes[place] ?? 0;
    if (byte < 0x80) {
      if ((byte < 0x20 && byte !== 0 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f)
        odd += 1;
    } else if (byte >= 0xc0 ? !isContinuation(bytes[place + 1]) : (bytes[place - 1] ?? 0) < 0x80) odd += 1;
  }
  return odd * ODD_SHARE > bytes.length;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}

/** At most one character of so many may be odd. */
const ODD_SHARE = 20;

/** At least six characters, nearly all of them printable ASCII or whole letters of another script. */
function isReadable(text: string): boolean {
  if (text.length < 6) return false;
  const odd = text.match(/[^\x20-\x7e\n\r\t\p{L}]/gu)?.length ?? 0;
  return odd * ODD_SHARE <= text.length;
}
