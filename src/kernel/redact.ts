// Secrets leave no exit: known values and well-known shapes are replaced by `[redacted]`.
//
// I1. Used at the exits only (log, archived output, delivery, ledger text); never on what a command itself reads.
// I2. Redaction is idempotent.

/** Shapes of credentials that are worth hiding wherever they appear. @source vendors' published key prefixes. */
const SHAPES: readonly RegExp[] = [
  /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}\b/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}\b/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{35}\b/g,
  /\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
];
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{16,}/gi;
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi;

export type Redact = (text: string) => string;

/** Makes a redactor for known secret values (shorter than 6 characters are ignored: they would eat ordinary text). */
export function makeRedact(secrets: readonly string[]): Redact {
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= 6)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, "[redacted]");
    for (const shape of SHAPES) clean = clean.replace(shape, "[redacted]");
    return clean.replace(BEARER, "$1 [redacted]").replace(URL_PASSWORD, "$1:[redacted]@");
  };
}

/** Names whose values are secrets: `OPENAI_API_KEY`, `DB_PASSWORD`, … Used to collect values for `makeRedact`. */
export function isSecretName(name: string): boolean {
  return /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE)/i.test(name);
}
