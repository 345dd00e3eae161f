// Secrets leave no exit: known values and well-known shapes are replaced by `[redacted]`.
//
// I1. Used at the exits only (log, archived output, delivery, ledger text, what goes to a model); never on what a command
//     itself reads.
// I2. Redaction is idempotent.
// I3. Linear in the text, whatever the text is: it comes from anybody.

/** What stands where a secret stood. */
export const REDACTED = "[redacted]";

/** Shapes of credentials that are worth hiding wherever they appear. @source vendors' published key prefixes. */
const SHAPES: readonly RegExp[] = [
  // First: other shapes would take the dashes of a key block, and its body would stay.
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----BEGIN )[\s\S])*?-----END [A-Z ]*PRIVATE KEY-----/g,
  // One whose end was cut off is as secret as a whole one; `\n` may be two characters, in JSON.
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{16,})+/g,
  /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}\b/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{35}\b/g,
  /\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,}/g,
];
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{16,}/gi;
// A quote ends an address: in JSON the next string would be taken for its password.
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/@"<>]*):[^\s@/"<>]+@/gi;

export interface Redact {
  (text: string): string;
  /**
   * Where the end of `text` begins that more text could still make a secret of; `text.length` = nowhere. What stands
   * before it is settled. Absent = not known: then only whole lines are settled.
   */
  readonly unsettledFrom?: (text: string) => number;
}

/** Makes a redactor for known secret values (shorter than 6 characters are ignored: they would eat ordinary text). */
export function makeRedact(secrets: readonly string[]): Redact {
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length);
  const redact = (text: string): string => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, REDACTED);
    for (const shape of SHAPES) clean = clean.replace(shape, REDACTED);
    clean = clean.replace(BEARER, `$1 ${REDACTED}`);
    // Most texts have no address, and every word could begin one.
    return clean.includes("://") ? clean.replace(URL_PASSWORD, `$1:${REDACTED}@`) : clean;
  };
  return Object.assign(redact, { unsettledFrom: (text: string) => unsettledFrom(text, known) });
}

/** A redactor for a person's own patterns (global ones). A pattern says nothing of its beginnings, so lines settle whole. */
export function makePatternRedact(patterns: readonly RegExp[]): Redact {
  const redact = (text: string) =>
    patterns.reduce((clean, pattern) => clean.replace(pattern, REDACTED), text);
  const settled = (text: string) => (patterns.length === 0 ? text.length : text.lastIndexOf("\n") + 1);
  return Object.assign(redact, { unsettledFrom: settled });
}

/** One after the other. */
export function chainRedact(...redacts: readonly Redact[]): Redact {
  const redact = (text: string) => redacts.reduce((clean, one) => one(clean), text);
  return Object.assign(redact, {
    unsettledFrom: (text: string) => Math.min(...redacts.map((one) => settledIn(one, text))),
  });
}

/** `unsettledFrom` of any redactor. */
export function settledIn(redact: Redact, text: string): number {
  return redact.unsettledFrom ? redact.unsettledFrom(text) : text.lastIndexOf("\n") + 1;
}

/** Names whose values are secrets: `OPENAI_API_KEY`, `DB_PASSWORD`, … Used to collect values for `makeRedact`. */
export function isSecretName(name: string): boolean {
  return /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE)/i.test(name);
}

/** Characters that shapes are made of, by code: a run of them at the end may go on. */
const RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9_~+/=.:@-]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const SCHEME = /[a-z0-9+.-]/i;
const KEY_OPENING = "-----BEGIN ";

function unsettledFrom(text: string, known: readonly string[]): number {
  const first = Math.min(
    runFrom(text, text.length),
    bearerFrom(text),
    urlFrom(text),
    keyBlockFrom(text),
    ...known.map((secret) => beginningOf(secret, text)),
  );
  return runFrom(text, first);
}

/** The beginning of the run that ends at `end`. */
function runFrom(text: string, end: number): number {
  let start = end;
  while (start > 0 && RUN[text.charCodeAt(start - 1)] === 1) start -= 1;
  return start;
}

/** Where the end of `text` begins to spell the beginning of `secret`. */
function beginningOf(secret: string, text: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.length - length;
  }
  return text.length;
}

/** `Bearer` with its token still to come. */
function bearerFrom(text: string): number {
  let end = runFrom(text, text.length);
  while (end > 0 && /\s/.test(text[end - 1] ?? "")) end -= 1;
  return /(?:bearer|basic)$/i.test(text.slice(Math.max(0, end - 7), end)) ? runFrom(text, end) : text.length;
}

/** `scheme://user:pass` with its `@` still to come: most characters may stand there. */
function urlFrom(text: string): number {
  const slashes = text.lastIndexOf("://");
  if (slashes < 0 || /[\s/@"<>]/.test(text.slice(slashes + 3))) return text.length;
  let start = slashes;
  while (start > 0 && SCHEME.test(text[start - 1] ?? "")) start -= 1;
  return start;
}

/** A private key with its end, or the end of its first line, still to come. */
function keyBlockFrom(text: string): number {
  const at = text.lastIndexOf(KEY_OPENING);
  if (at < 0) return text.length;
  const rest = text.slice(at + KEY_OPENING.length);
  const mayOpen = /^[A-Z ]*(?:$|-{1,4}$|(?<=PRIVATE KEY)-----)/.test(rest);
  return mayOpen && !/-----END [A-Z ]*PRIVATE KEY-----/.test(rest) ? at : text.length;
}
