// `POST /hooks/<name>`: a signed message from outside that sets jobs off (W7, S5).
//
// I1. Nothing of the message is looked at before its signature holds.
// I2. What proves who sent it, and whatever looks like a credential, is kept nowhere.

import { Fault, isFault, messageOf } from "../../kernel/errors.ts";
import { isSecretName } from "../../kernel/redact.ts";
import type { Hook } from "../../records/http-config.ts";
import type { Context } from "../context.ts";
import { type FiredDocument, fireEvent } from "../fire-event.ts";
import { keyOf, proofHeaders, type SignedRequest, whyUnsigned } from "./hook-signature.ts";

/** The connection's own affairs, and credentials. */
const UNKEPT = new Set([
  ...["host", "connection", "content-length", "transfer-encoding", "accept-encoding", "content-type"],
  ...["authorization", "proxy-authorization", "cookie"],
]);
const MOST_HEADERS = 64;
const LONGEST_HEADER = 1_000;

export interface HookRequest extends SignedRequest {
  name: string;
  /** Lower-case names. */
  headers: Iterable<readonly [string, string]>;
}

/** Throws `input.not-found`, `auth.refused`, `input.invalid` (not UTF-8), `input.conflict`. */
export async function receiveHook(context: Context, request: HookRequest): Promise<FiredDocument> {
  const hook = hookOf(context, request.name);
  requireSigned(context, request, hook);
  const proof = new Set(proofHeaders(hook.signature));
  const kept = [...request.headers].filter(([name]) => !proof.has(name) && isKept(name));
  return fireEvent(context, {
    trigger: { kind: "webhook", name: request.name },
    key: keyOf(request, hook.signature),
    data: textOf(request.body),
    contentType: request.header("content-type"),
    headers: Object.fromEntries(
      kept.slice(0, MOST_HEADERS).map(([name, value]) => [name, value.slice(0, LONGEST_HEADER)]),
    ),
  });
}

function hookOf({ config }: Context, name: string): Hook {
  const hook = Object.hasOwn(config.http.hooks, name) ? config.http.hooks[name] : undefined;
  if (hook) return hook;
  throw new Fault("input.not-found", `There is no webhook "${name}".`, {
    hint: "Its owner configures it under `http.hooks` in config.yaml.",
  });
}

function requireSigned(context: Context, request: HookRequest, hook: Hook): void {
  const why = whyRefused(context, request, hook);
  if (why === undefined) return;
  context.log.warn("hook-refused", { hook: request.name, why });
  throw new Fault("auth.refused", `Refused: ${why}.`, {
    hint: "Sign the body with the secret that both sides hold; see docs/hooks.md.",
  });
}

function whyRefused(context: Context, request: HookRequest, hook: Hook): string | undefined {
  try {
    const secret = context.resolveReferences(hook.secret);
    return whyUnsigned(request, { signature: hook.signature, secret }, context.clock.now());
  } catch (error) {
    if (!isFault(error)) throw error;
    // Ours to mend, and none of the sender's business.
    context.log.error("hook-unusable", { hook: request.name, error: messageOf(error) });
    return "this webhook cannot be checked at the moment";
  }
}

function isKept(name: string): boolean {
  return !UNKEPT.has(name) && !isSecretName(name.replaceAll("-", "_").toUpperCase());
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new Fault("input.invalid", "The body is not UTF-8.", { hint: "Send text or JSON in UTF-8." });
  }
}
