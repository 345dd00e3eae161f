// The configuration's platforms, with their references resolved: what an adapter gets.
//
// I1. A variable that is not set breaks its own platform and no other: jobs that do not send there run on.

import type { PlatformSettings } from "../deliver/adapters/index.ts";
import type { Settings } from "../deliver/platforms/settings.ts";
import { messageOf } from "../kernel/errors.ts";
import type { ConfigReading } from "../records/config-document.ts";

/** Never throws: what cannot be resolved is `broken`, with the reason. */
export function platformSettings({
  config,
  resolve,
}: Pick<ConfigReading, "config" | "resolve">): PlatformSettings {
  const settings: Record<string, Settings<unknown>> = {};
  for (const [platform, written] of Object.entries(config.deliver.platforms)) {
    if (written !== undefined) settings[platform] = settled(written, resolve);
  }
  // Parsed by config-schema.ts: resolving keeps the shape, only texts change.
  return settings as PlatformSettings;
}

function settled(written: unknown, resolve: (text: string) => string): Settings<unknown> {
  try {
    return { kind: "ready", config: resolveTexts(written, resolve) };
  } catch (error) {
    return { kind: "broken", why: messageOf(error) };
  }
}

function resolveTexts(value: unknown, resolve: (text: string) => string): unknown {
  if (typeof value === "string") return resolve(value);
  if (Array.isArray(value)) return value.map((item) => resolveTexts(item, resolve));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolveTexts(item, resolve)]));
}
