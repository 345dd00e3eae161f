// Standard Webhooks signatures: who sent it, when, and that nothing was changed on the way.
// @source Standard Webhooks specification, "Signature scheme" (symmetric, v1).

import { createHmac } from "node:crypto";
import { Fault } from "../kernel/errors.ts";
import { type Instant, SECOND } from "../kernel/time.ts";

/** Fewer bytes can be guessed. @source the specification asks for 24 to 64 bytes; 16 is the least we accept. */
const MIN_SECRET_BYTES = 16;

/** Reads `whsec_<base64>`. Throws `config.invalid`; the message never holds the secret. */
export function readWebhookSecret(text: string, owner: string): Buffer {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? "";
  const secret = Buffer.from(base64, "base64");
  if (secret.length >= MIN_SECRET_BYTES) return secret;
  throw new Fault(
    "config.invalid",
    `the secret of ${owner} is not whsec_ followed by at least 16 bytes in base64`,
    {
      hint: "Make one with `openssl rand -base64 32` and put whsec_ before it.",
    },
  );
}

/** The three headers. `id` stays the same over retries; it must hold no `.`. */
export function signatureHeaders(
  secret: Buffer,
  message: { id: string; now: Instant; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(message.now / SECOND));
  const signed = `${message.id}.${timestamp}.${message.body}`;
  const signature = createHmac("sha256", secret).update(signed).digest("base64");
  return {
    "webhook-id": message.id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  };
}
