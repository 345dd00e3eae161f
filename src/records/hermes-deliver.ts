// Hermes' deliver strings and origins in our words.

import type { Origin } from "./delivery.ts";
import { isRecord, textOf } from "./hermes-text.ts";
import type { TargetDocument } from "./job.ts";

export interface HermesTargets {
  /** Undefined = the job said nothing. */
  targets: TargetDocument[] | undefined;
  warnings: string[];
}

/** A text, perhaps of several targets with commas between, or a list of them. Duplicates go. */
export function readHermesTargets(value: unknown, origin: Origin | undefined): HermesTargets {
  const words = (Array.isArray(value) ? value : [value]).flatMap((item) =>
    typeof item === "string" ? item.split(",").map((word) => word.trim()) : [],
  );
  const named = words.filter((word) => word !== "");
  if (named.length === 0) return { targets: undefined, warnings: [] };
  const warnings: string[] = [];
  const targets = named.flatMap((word) => {
    if (word === "origin" && !origin) {
      warnings.push('It delivers to "origin" but names none; the result stays local.');
      return ["local"];
    }
    if (/^bot-chat(:|$)/.test(word)) {
      warnings.push(`It delivers to "${word}", which has no counterpart; the result stays local.`);
      return ["local"];
    }
    return [word];
  });
  return { targets: [...new Set(targets)], warnings };
}

/** `{platform, chat_id, thread_id, …}`; anything else counts as missing, as it does in Hermes. */
export function readHermesOrigin(value: unknown): { origin: Origin | undefined; warnings: string[] } {
  const platform = isRecord(value) ? textOf(value.platform) : undefined;
  if (!isRecord(value) || platform === undefined) return { origin: undefined, warnings: [] };
  const chat = idOf(value.chat_id);
  const thread = idOf(value.thread_id);
  const lost = ["user_id", "scope_id"].filter((key) => idOf(value[key]) !== undefined);
  const origin: Origin = {
    platform,
    ...(chat === undefined ? {} : { chat }),
    ...(thread === undefined ? {} : { thread }),
  };
  return { origin, warnings: lost.map((key) => `origin.${key} was not carried over.`) };
}

function idOf(value: unknown): string | undefined {
  return typeof value === "number" ? String(value) : textOf(value);
}
