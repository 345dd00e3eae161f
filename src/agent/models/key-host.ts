// Where a key may go. A hosted provider's key goes to that provider's own hosts and nowhere else.
//
// I1. Fail closed: an address that is not written the way it is parsed is refused, whatever it might mean. That ends the
//     tricks with user names, back slashes, full-width letters and dots at the end in one rule.
// I2. A hosted provider is asked on its own hosts, or on this machine with a key that is no provider's usual one.
// I3. The usual key of a provider (its variable) goes to its hosts only, whichever form is spoken there.
// I4. With a key, http without TLS is for this machine and private networks.

import { isIP } from "node:net";
import { Fault } from "../../kernel/errors.ts";
import { isPublicAddress } from "../../kernel/private-addresses.ts";
import { PROVIDERS, type ProviderName } from "../../records/models-config.ts";

/** A host and everything below it. @source the providers' API references */
const HOSTS: Partial<Record<ProviderName, readonly string[]>> = {
  openai: ["openai.com"],
  anthropic: ["anthropic.com"],
  google: ["generativelanguage.googleapis.com"],
  openrouter: ["openrouter.ai"],
};

/** Where each hosted provider's key is looked for, first come first served. */
export const USUAL_VARIABLES: Partial<Record<ProviderName, readonly string[]>> = {
  openai: ["OPENAI_API_KEY"],
  anthropic: ["ANTHROPIC_API_KEY"],
  google: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
  openrouter: ["OPENROUTER_API_KEY"],
};

export interface KeyUse {
  /** The model's name, for messages. */
  model: string;
  provider: ProviderName;
  baseUrl: string;
  /** The variable that holds the key; undefined = none is sent. */
  variable: string | undefined;
}

/** Throws Fault `model.host-refused` unless `baseUrl` may be asked, with the key if there is one. */
export function requireOwnHost(use: KeyUse): void {
  const refusal = refusalOf(use);
  if (!refusal) return;
  throw new Fault(
    "model.host-refused",
    `Model "${use.model}" is not asked at ${shown(use)}: ${refusal.why}`,
    {
      hint: refusal.hint,
    },
  );
}

function refusalOf({ provider, baseUrl, variable }: KeyUse): { why: string; hint: string } | undefined {
  if (!URL.canParse(baseUrl))
    return { why: "it is no address", hint: "Write an http(s) address as `baseUrl`." };
  const url = new URL(baseUrl);
  if (!isWrittenAsParsed(baseUrl, url))
    return {
      why: `it leads to ${url.host}, which is not what stands there`,
      hint: `Write the address as ${url.origin}${url.pathname.replace(/\/$/, "")}, if that is meant.`,
    };
  const host = url.hostname;
  const own = HOSTS[provider];
  const isOwn = own !== undefined && isBelow(host, own);
  if (own && !isOwn && !isLoopback(host))
    return {
      why: `the host is none of ${provider}'s (${own.join(", ")})`,
      hint: "Use `provider: openai-compatible` with a `key` of its own for another host.",
    };
  if (variable === undefined) return undefined;
  const owner = ownerOf(variable);
  if (owner && !isBelow(host, HOSTS[owner] ?? []))
    return {
      why: `${variable} is ${owner}'s key and goes to ${owner}'s hosts only`,
      hint: "Name a key of its own for this model: `key: ${env:NAME}`.",
    };
  if (url.protocol === "http:" && !isPrivate(host))
    return { why: "a key is not sent without TLS", hint: "Write https:// as `baseUrl`." };
  return undefined;
}

/** (I1) `HTTPS://API.x`, `https://user@x`, `https:\\x`, `https://x:443` and look-alike letters are written otherwise. */
function isWrittenAsParsed(text: string, url: URL): boolean {
  const rest = text.slice(url.origin.length);
  return text.startsWith(url.origin) && (rest === "" || rest.startsWith("/")) && !url.hostname.endsWith(".");
}

/** Whose usual key the variable holds. */
function ownerOf(variable: string): ProviderName | undefined {
  return PROVIDERS.find((provider) => USUAL_VARIABLES[provider]?.includes(variable));
}

function isBelow(host: string, roots: readonly string[]): boolean {
  return roots.some((root) => host === root || host.endsWith(`.${root}`));
}

/** `localhost`, what ends in it, 127.0.0.0/8 and ::1. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) === 4) return bare.startsWith("127.");
  return bare === "::1" || bare === "localhost" || bare.endsWith(".localhost");
}

/** This machine, a private address, or a name that public name servers do not know. */
function isPrivate(host: string): boolean {
  if (isLoopback(host)) return true;
  const bare = host.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0) return !isPublicAddress(bare);
  return !bare.includes(".") || /\.(local|internal|lan|home\.arpa)$/.test(bare);
}

/** The address without what may be secret in it. */
function shown({ baseUrl }: KeyUse): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).host : "its baseUrl";
}
