// A platform's settings as its adapter gets them: resolved, missing, or impossible to resolve. And its webhooks by name.

import type { Target } from "../../records/delivery.ts";

/** `missing` = not configured; `broken` = a variable that it refers to is not set. */
export type Settings<Config> =
  | { kind: "ready"; config: Config }
  | { kind: "missing" }
  | { kind: "broken"; why: string };

/** Why a platform cannot be used, or undefined when its settings stand. */
export function whyUnusable(
  settings: Settings<unknown>,
  platform: string,
  needs: string,
): string | undefined {
  switch (settings.kind) {
    case "ready":
      return undefined;
    case "missing":
      return `${platform} is not configured: set deliver.${platform}.${needs} in config.yaml`;
    case "broken":
      return settings.why;
  }
}

export interface NamedHook {
  url: string;
  secret: string | undefined;
}

export interface HookConfig {
  webhook?: string | undefined;
  secret?: string | undefined;
  webhooks?: Readonly<Record<string, { url: string; secret?: string | undefined }>> | undefined;
}

/** The platform's incoming webhooks by name; `webhook` is the one called `default`. */
export function hooksOf(settings: Settings<HookConfig>): ReadonlyMap<string, NamedHook> {
  const hooks = new Map<string, NamedHook>();
  if (settings.kind !== "ready") return hooks;
  const { webhook, secret, webhooks = {} } = settings.config;
  if (webhook !== undefined) hooks.set("default", { url: webhook, secret });
  for (const [name, hook] of Object.entries(webhooks))
    hooks.set(name, { url: hook.url, secret: hook.secret ?? secret });
  return hooks;
}

/** The webhook an address names: a configured one, or a URL that stands in the address itself. */
export function hookFor(hooks: ReadonlyMap<string, NamedHook>, target: Target): NamedHook | undefined {
  if (target.url !== undefined) return { url: target.url, secret: undefined };
  return hooks.get(target.chat ?? "");
}

/** For a platform that knows nothing but webhooks. */
export function whyNoHook(hooks: ReadonlyMap<string, NamedHook>, target: Target): string | undefined {
  const hook = hookFor(hooks, target);
  if (!hook) {
    const known = [...hooks.keys()].join(", ") || "none";
    return `${target.platform} has no webhook called "${target.chat ?? ""}" (configured: ${known})`;
  }
  return URL.canParse(hook.url) ? undefined : `the webhook of ${target.text} is no URL`;
}
