// Targets: what a person writes → selectors, parsed once (O5).
//
// I1. After the platform's name only its adapter reads the address: a Matrix room holds `:`.
// I2. `text` is a target's canonical spelling: parsing it again gives the same target, equal texts are one target.
// I3. A comma separates targets, always; inside a URL it is written `%2C` (or the object form is used).

import { Fault, nearestWord } from "../kernel/errors.ts";
import type { Adapter, Target, TargetSelector } from "../records/delivery.ts";
import type { TargetDocument } from "../records/job.ts";
import type { AdapterTable } from "./adapter-table.ts";

type ObjectDocument = Exclude<TargetDocument, string>;

/**
 * Reads every target of a document, in order, without duplicates. A text may be a comma list.
 * Throws `target.unknown` (platform nobody knows; `details.known` lists them) and `target.refused` (unreadable address).
 */
export function parseTargets(
  documents: readonly TargetDocument[],
  platforms: AdapterTable,
): TargetSelector[] {
  const found = new Map<string, TargetSelector>();
  for (const document of documents) {
    for (const selector of readDocument(document, platforms)) {
      const text = selectorText(selector);
      if (!found.has(text)) found.set(text, selector);
    }
  }
  return [...found.values()];
}

/** Reads exactly one target. Throws as `parseTargets`; a comma list is refused. */
export function parseTarget(document: TargetDocument, platforms: AdapterTable): TargetSelector {
  const [first, ...more] = readDocument(document, platforms);
  if (!first || more.length > 0) throw refused(String(document), "exactly one target belongs here");
  return first;
}

/** The canonical spelling of a selector: `origin`, `all`, `telegram`, `telegram:-1001:17`. */
export function selectorText(selector: TargetSelector): string {
  if (selector.kind === "target") return selector.target.text;
  return selector.kind === "home" ? selector.platform : selector.kind;
}

/** For screens and logs: a URL's path and query often are its password, so only its host is shown. */
export function displayTarget(target: Target): string {
  if (target.url === undefined || !URL.canParse(target.url)) return target.text;
  const profile = target.profile === undefined ? "" : `profile:${target.profile}/`;
  return `${profile}${target.platform}:${new URL(target.url).origin}/…`;
}

/** Home channels from configuration (`{telegram: "-1001:17"}`) as targets by platform. Throws as `parseTargets`. */
export function parseHomes(
  homes: Readonly<Record<string, string | Omit<ObjectDocument, "platform">>>,
  platforms: AdapterTable,
): ReadonlyMap<string, Target> {
  const parsed = new Map<string, Target>();
  for (const [platform, address] of Object.entries(homes)) {
    const adapter = platformOf(platform, platform, platforms);
    const target =
      typeof address === "string"
        ? readAddress(adapter, address)
        : readObject({ ...address, platform }, platforms);
    parsed.set(adapter.platform, target);
  }
  return parsed;
}

function readDocument(document: TargetDocument, platforms: AdapterTable): TargetSelector[] {
  if (typeof document !== "string") {
    if (document.chat === undefined && document.url === undefined)
      return [readText(document.platform, platforms)];
    return [{ kind: "target", target: readObject(document, platforms) }];
  }
  const pieces = document
    .split(",")
    .map((piece) => piece.trim())
    .filter(Boolean);
  if (pieces.length === 0) throw refused(document, "it is empty");
  return pieces.map((piece) => readText(piece, platforms));
}

function readText(text: string, platforms: AdapterTable): TargetSelector {
  const colon = text.indexOf(":");
  const head = (colon < 0 ? text : text.slice(0, colon)).toLowerCase();
  const address = colon < 0 ? undefined : text.slice(colon + 1);
  if (head === "origin" || head === "all") {
    if (address !== undefined) throw refused(text, `"${head}" takes no address`);
    return { kind: head };
  }
  if (head === "profile") return { kind: "target", target: readProfile(text, address ?? "", platforms) };
  const adapter = platformOf(head, text, platforms);
  if (adapter.hasNoAddress) {
    if (address !== undefined) throw refused(text, `"${head}" takes no address`);
    return { kind: "target", target: { platform: head, text: head } };
  }
  if (address === undefined) return { kind: "home", platform: head };
  return { kind: "target", target: readAddress(adapter, address) };
}

function readAddress(adapter: Adapter, address: string): Target {
  const parts = adapter.parseAddress(address.trim());
  if (!parts) throw unreadableAddress(adapter, address);
  return makeTarget(adapter.platform, parts);
}

/** `{platform, chat, thread, url}`: always accepted where the text form would be; chat and thread are taken as they stand. */
function readObject(document: ObjectDocument, platforms: AdapterTable): Target {
  const adapter = platformOf(document.platform.toLowerCase(), document.platform, platforms);
  const url = document.url?.trim();
  const chat = idText(document.chat, adapter.platform);
  const parts = adapter.parseAddress(url ?? chat ?? "");
  if (!parts) throw unreadableAddress(adapter, url ?? chat ?? "");
  if (url !== undefined) return makeTarget(adapter.platform, { ...parts });
  const thread = idText(document.thread, adapter.platform);
  const ownChat = parts.thread === undefined && parts.url === undefined ? (parts.chat ?? chat) : chat;
  return makeTarget(adapter.platform, {
    ...(ownChat === undefined ? {} : { chat: ownChat }),
    ...(thread === undefined ? {} : { thread }),
    ...(parts.url === undefined ? {} : { url: parts.url }),
  });
}

/** `profile:NAME/<target>`: the other home resolves and sends it; a bare platform means *its* home channel. */
function readProfile(text: string, rest: string, platforms: AdapterTable): Target {
  const slash = rest.indexOf("/");
  const profile = rest.slice(0, Math.max(slash, 0)).trim();
  const inner = rest.slice(slash + 1).trim();
  if (!/^[a-z0-9][a-z0-9_-]*$/i.test(profile) || inner === "")
    throw refused(text, "write profile:NAME/<target>");
  const selector = readText(inner, platforms);
  if (selector.kind === "origin" || selector.kind === "all")
    throw refused(text, `"${selector.kind}" has no meaning in another home`);
  const isNested = selector.kind === "target" && selector.target.profile !== undefined;
  if (isNested) throw refused(text, "a profile inside a profile is not followed");
  const target = selector.kind === "target" ? selector.target : { platform: selector.platform, text: inner };
  return { ...target, profile, text: `profile:${profile}/${selectorText(selector)}` };
}

function makeTarget(platform: string, parts: { chat?: string; thread?: string; url?: string }): Target {
  const address = (parts.url ?? parts.chat ?? "").replaceAll(",", "%2C");
  const text = parts.thread === undefined ? address : `${address}:${parts.thread}`;
  return { platform, ...parts, text: `${platform}:${text}` };
}

/** An id as text. JSON and YAML may hand us a number, which is exact only up to 2^53 (O5). */
function idText(value: unknown, platform: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value.trim();
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  throw new Fault(
    "target.refused",
    `${platform}: the id ${String(value)} was read as a number and lost digits`,
    {
      hint: "Quote it, so that it stays a text.",
    },
  );
}

function platformOf(name: string, text: string, platforms: AdapterTable): Adapter {
  const adapter = platforms.get(name);
  if (adapter) return adapter;
  const known = ["origin", "all", ...platforms.keys()].sort();
  const near = nearestWord(name, known);
  throw new Fault("target.unknown", `unknown target "${text}": no platform is called "${name}"`, {
    hint: `${near ? `Did you mean "${near}"? ` : ""}Known: ${known.join(", ")}. A comma inside a URL is written %2C.`,
    details: { known, ...(near ? { nearest: near } : {}) },
  });
}

function unreadableAddress(adapter: Adapter, address: string): Fault {
  // A URL's credentials must not come back in the message.
  const shown = address.replace(/\/\/[^/@]*@/, "//…@");
  return new Fault("target.refused", `"${shown}" is not an address of ${adapter.platform}`, {
    hint: `Write ${adapter.platform}:${adapter.addressForm ?? "<chat>[:<thread>]"}.`,
  });
}

function refused(text: string, why: string): Fault {
  return new Fault("target.refused", `the target "${text}" cannot be read: ${why}`, {
    hint: "Write local, stdout, origin, all, <platform>, <platform>:<chat>[:<thread>], webhook:<url or name>, email:<address> or profile:NAME/<target>.",
  });
}
