// Where a request came from: a flag, else the environment, else the caller's own word (O4). Pure.

import type { Origin } from "../records/delivery.ts";
import type { AdapterTable } from "./adapter-table.ts";
import { parseTarget, parseTargets } from "./targets.ts";

export interface OriginSources {
  /** `--origin platform:chat[:thread]`. */
  flag?: string | undefined;
  /** NIGHTSHIFT_ORIGIN_PLATFORM, _CHAT, _THREAD. */
  environment?: { platform?: string | undefined; chat?: string | undefined; thread?: string | undefined };
  /** An MCP call's `_meta.origin`. */
  call?: Origin | undefined;
}

/** The first source that names a platform; undefined = none does. Throws `target.unknown` and `target.refused`. */
export function readOrigin(sources: OriginSources, platforms: AdapterTable): Origin | undefined {
  if (sources.flag) {
    const selector = parseTarget(sources.flag, platforms);
    if (selector.kind === "home") return { platform: selector.platform };
    if (selector.kind === "target") return originOf(selector.target);
    return undefined;
  }
  const { platform, chat, thread } = sources.environment ?? {};
  const named = platform ? { platform, chat: chat || undefined, thread: thread || undefined } : sources.call;
  if (!named) return undefined;
  // Checks the platform and the chat's form; the ids themselves are kept as they came.
  parseTargets([named], platforms);
  return originOf(named);
}

function originOf({ platform, chat, thread }: Origin): Origin {
  return {
    platform: platform.toLowerCase(),
    ...(chat === undefined ? {} : { chat }),
    ...(thread === undefined ? {} : { thread }),
  };
}
