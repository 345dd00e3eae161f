// Whether a webhook that came in is from who it says: Standard Webhooks, GitHub's form, or any HMAC-SHA256 in a header.
//
// I1. Over the bytes as they came, compared in constant time.
// I2. The answer never says how a signature should have been.
// @source Standard Webhooks specification, "Verifying signatures"; docs.github.com "Validating webhook deliveries".

import { createHmac, timingSafeEqual } from "node:crypto";
import { readWebhookSecret } from "../../deliver/webhook-signature.ts";
import { type Instant, MINUTE, SECOND } from "../../kernel/time.ts";
import type { HookSignature } from "../../records/http-config.ts";

/** @source the specification asks for a tolerance; 5 minutes is what its libraries take. */
const TOLERANCE_MS = 5 * MINUTE;

export interface SignedRequest {
  /** By lower-case name. */
  header(name: string): string | undefined;
  body: Uint8Array;
}

export interface HookProof {
  signature: HookSignature;
  secret: string;
}

/** Undefined = it holds; else why not, in words for the sender. Throws `config.invalid` for a secret that cannot be one. */
export function whyUnsigned(request: SignedRequest, proof: HookProof, now: Instant): string | undefined {
  if (proof.signature === "standard") return whyNotStandard(request, proof.secret, now);
  const { header, prefix, encoding } = hmacForm(proof.signature);
  const given = request.header(header);
  if (given === undefined) return `the header ${header} is missing`;
  const expected = createHmac("sha256", proof.secret).update(request.body).digest(encoding);
  return isSame(given.trim(), `${prefix}${expected}`) ? undefined : "the signature is wrong";
}

/** The sender's own name for this event; undefined = it gives none. */
export function keyOf({ header }: SignedRequest, signature: HookSignature): string | undefined {
  const own = signature === "standard" ? "webhook-id" : hmacForm(signature).keyHeader;
  return (own && header(own)) || header("idempotency-key") || undefined;
}

/** The headers that prove who sent it: kept nowhere. */
export function proofHeaders(signature: HookSignature): readonly string[] {
  return signature === "standard" ? ["webhook-signature"] : [hmacForm(signature).header];
}

function hmacForm(signature: Exclude<HookSignature, "standard">) {
  if (signature === "github")
    return {
      header: "x-hub-signature-256",
      prefix: "sha256=",
      encoding: "hex",
      keyHeader: "x-github-delivery",
    } as const;
  const { header, prefix = "", encoding = "hex", keyHeader } = signature;
  return { header: header.toLowerCase(), prefix, encoding, keyHeader: keyHeader?.toLowerCase() } as const;
}

function whyNotStandard({ header, body }: SignedRequest, secret: string, now: Instant): string | undefined {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(header);
  if (!id || !timestamp || !signatures)
    return "webhook-id, webhook-timestamp and webhook-signature must be there";
  const sentAt = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * SECOND : Number.NaN;
  if (!(Math.abs(now - sentAt) <= TOLERANCE_MS))
    return "webhook-timestamp lies more than five minutes from now";
  const key = readWebhookSecret(secret, "this webhook");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  // Several, while a secret is being changed.
  const isOurs = signatures.split(" ").some((one) => isSame(one, `v1,${expected}`));
  return isOurs ? undefined : "the signature is wrong";
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHmac("sha256", "compare").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
