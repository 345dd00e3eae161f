// Routing: selectors → concrete targets, at the moment a row is made (O4). Pure.
//
// I1. Nothing is dropped: what cannot be resolved comes back with a reason, and its text goes to `local` as well.
// I2. Two selectors that lead to one canonical text are one target.

import { Fault } from "../kernel/errors.ts";
import type { Origin, Target, TargetSelector } from "../records/delivery.ts";
import type { JobDocument } from "../records/job.ts";
import { type AdapterTable, whyUnsendable } from "./adapter-table.ts";
import { parseTargets } from "./targets.ts";

/** Kept on this machine: always possible. */
export const LOCAL: Target = { platform: "local", text: "local" };

export interface RouteContext {
  /** Where the job's request came from. */
  origin: Origin | undefined;
  /** Home channels by platform. */
  homes: ReadonlyMap<string, Target>;
  adapters: AdapterTable;
}

export type UnresolvedReason = "noHome" | "noOrigin" | "notConfigured";

export interface Unresolved {
  /** The selector as written, or the address it led to. */
  target: Target;
  reason: UnresolvedReason;
  /** One sentence: what is missing. */
  message: string;
}

export interface Route {
  /** Holds `local` whenever anything is unresolved (O4). */
  targets: Target[];
  unresolved: Unresolved[];
}

/** Where a message goes now. Never throws; an empty list of selectors goes nowhere. */
export function route(selectors: readonly TargetSelector[], context: RouteContext): Route {
  const targets = new Map<string, Target>();
  const unresolved = new Map<string, Unresolved>();
  for (const answer of selectors.flatMap((selector) => resolve(selector, context))) {
    if ("reason" in answer) unresolved.set(answer.target.text, answer);
    else targets.set(answer.text, answer);
  }
  if (unresolved.size > 0) targets.set(LOCAL.text, LOCAL);
  return { targets: [...targets.values()], unresolved: [...unresolved.values()] };
}

/** DESIGN §6: `origin` if the job has one, else `local`. */
export function defaultDeliver(origin: Origin | undefined): TargetSelector[] {
  return origin ? [{ kind: "origin" }] : [{ kind: "target", target: LOCAL }];
}

/** A document's targets with the defaults filled in: `deliver` as above, `onFailure` as `deliver`; `[]` stays none (O1). */
export function jobTargets(
  document: Pick<JobDocument, "deliver" | "onFailure" | "origin">,
  platforms: AdapterTable,
): { deliver: TargetSelector[]; onFailure: TargetSelector[] } {
  const deliver = document.deliver
    ? parseTargets(document.deliver, platforms)
    : defaultDeliver(document.origin);
  return { deliver, onFailure: document.onFailure ? parseTargets(document.onFailure, platforms) : deliver };
}

/**
 * For creation: throws for the first selector that could not be resolved now: `target.no-origin` or `target.refused`.
 * A script job found in a file is not refused for it: its rows are `dead` with the reason and kept in `local` (O4).
 */
export function requireRoute(selectors: readonly TargetSelector[], context: RouteContext): void {
  const [first] = route(selectors, context).unresolved;
  if (!first) return;
  if (first.reason === "noOrigin") {
    throw new Fault("target.no-origin", "`origin` cannot be resolved: this request came from no chat", {
      hint: "Name a target, for instance --deliver local, or pass --origin platform:chat[:thread].",
    });
  }
  throw new Fault("target.refused", `nothing can be delivered to "${first.target.text}": ${first.message}`, {
    hint:
      first.reason === "noHome"
        ? "Set the home channel under `deliver.homes` in config.yaml, or write the chat's id after the platform."
        : "Choose another target, or change what `deliver` in config.yaml allows.",
  });
}

function resolve(selector: TargetSelector, context: RouteContext): (Target | Unresolved)[] {
  switch (selector.kind) {
    case "target":
      return [sendable(selector.target, context)];
    case "origin":
      return [fromOrigin(context)];
    case "home":
      return [homeOf(selector.platform, context)];
    case "all": {
      const homes = [...context.homes.keys()].sort().map((platform) => homeOf(platform, context));
      return homes.length > 0 ? homes : [unresolvable("all", "noHome", "no platform has a home channel")];
    }
  }
}

function fromOrigin(context: RouteContext): Target | Unresolved {
  const { origin } = context;
  if (!origin) return unresolvable("origin", "noOrigin", "the job came from no chat");
  const adapter = context.adapters.get(origin.platform);
  if (adapter?.hasNoAddress) return sendable({ platform: origin.platform, text: origin.platform }, context);
  if (origin.chat === undefined) return homeOf(origin.platform, context);
  const { platform, chat, thread } = origin;
  const address = thread === undefined ? chat : `${chat}:${thread}`;
  const target: Target = {
    platform,
    chat,
    ...(thread === undefined ? {} : { thread }),
    text: `${platform}:${address}`,
  };
  return sendable(target, context);
}

function homeOf(platform: string, context: RouteContext): Target | Unresolved {
  const home = context.homes.get(platform);
  if (home) return sendable(home, context);
  const why = context.adapters.get(platform)?.unusable();
  if (why !== undefined) return unresolvable(platform, "notConfigured", why);
  return unresolvable(platform, "noHome", `${platform} has no home channel`);
}

function sendable(target: Target, context: RouteContext): Target | Unresolved {
  const message = whyUnsendable(context.adapters, target);
  return message === undefined ? target : { target, reason: "notConfigured", message };
}

function unresolvable(platform: string, reason: UnresolvedReason, message: string): Unresolved {
  return { target: { platform, text: platform }, reason, message };
}
