// Who may speak to this server (S5): its own host, no foreign page, and whoever holds the token. Pure.
//
// I1. The token is compared in constant time, whatever its length.
// I2. A name that somebody else's DNS points at us is no name of ours (DNS rebinding); addresses cannot be re-pointed.

import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { Fault } from "../kernel/errors.ts";

/** By which names and port this server may be called. */
export interface OwnAddress {
  bind: string;
  port: number;
  /** This machine's name, known to whoever reaches a server beyond loopback. */
  hostname: string;
}

/** Throws `auth.forbidden` unless the Host header is ours. */
export function requireOwnHost(host: string | undefined, own: OwnAddress): void {
  if (host !== undefined && isOwnHost(host, own)) return;
  throw new Fault("auth.forbidden", `This server is not "${host ?? ""}".`, {
    hint: `Call it as http://${hostText(own.bind)}:${own.port}.`,
  });
}

/** Throws `auth.forbidden` for a request that a page of another origin has caused (CSRF). */
export function requireOwnOrigin(
  headers: { origin: string | undefined; fetchSite: string | undefined },
  own: OwnAddress,
): void {
  const { origin, fetchSite } = headers;
  const isOwnSite = fetchSite === undefined || fetchSite === "same-origin" || fetchSite === "none";
  const [scheme, host] = origin?.split("://") ?? [];
  const isOwnOrigin = origin === undefined || (scheme === "http" && isOwnHost(host ?? "", own));
  if (isOwnSite && isOwnOrigin) return;
  throw new Fault("auth.forbidden", "Pages of another origin may not call this server.", {
    hint: "Call it from a program, or from its own pages.",
  });
}

/** Throws `auth.refused` unless the header carries the token. */
export function requireToken(authorization: string | undefined, token: string): void {
  const given = tokenOf(authorization);
  if (given !== undefined && isSameSecret(given, token)) return;
  const what = authorization === undefined ? "The token is missing." : "The token is wrong.";
  throw new Fault("auth.refused", what, {
    hint: "Send Authorization: Bearer with what the home's file `token` holds.",
  });
}

/** What an Authorization header carries. */
export function tokenOf(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
}

/** S1: work that runs must not schedule work. Throws `auth.forbidden`. */
export function refuseInsideRun(runId: string | undefined, isAllowed: boolean): void {
  if (runId === undefined || isAllowed) return;
  throw new Fault("auth.forbidden", `run ${runId} may not change jobs.`, {
    hint: "Do it outside of a run, or allow it with `http.allowRunsToSchedule: true` in config.yaml.",
  });
}

/** Whether nobody but this machine can reach `bind`. */
export function isLoopback(bind: string): boolean {
  return bind === "localhost" || bind === "::1" || (isIP(bind) === 4 && bind.startsWith("127."));
}

/** Every address of this machine. */
export function isWildcard(bind: string): boolean {
  return bind === "0.0.0.0" || bind === "::";
}

/** As it stands in a URL. */
export function hostText(address: string): string {
  return isIP(address) === 6 ? `[${address}]` : address;
}

function isOwnHost(host: string, own: OwnAddress): boolean {
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]/@]+)(?::(\d{1,5}))?$/i.exec(host);
  if (!match || Number(match[2] ?? 80) !== own.port) return false;
  const name = (match[1] ?? "").toLowerCase();
  if (["localhost", "127.0.0.1", "[::1]", hostText(own.bind).toLowerCase()].includes(name)) return true;
  if (isLoopback(own.bind)) return false;
  return name === own.hostname.toLowerCase() || (isWildcard(own.bind) && isIP(bare(name)) !== 0);
}

function bare(name: string): string {
  return name.replace(/^\[|\]$/g, "");
}

/** Digests have one length, so neither the length nor the first difference shows in time (I1). */
export function isSameSecret(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
