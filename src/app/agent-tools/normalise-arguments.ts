// Arguments as models write them → as the schema has them. Each slip that has one meaning is read, not
// refused: snake_case, aliases, a list written as text, "forever" (hermes#85383, #71987, #17139).

import { camelCase } from "../../records/snake-case.ts";

export interface NormalisedArguments {
  value: unknown;
  /** What was left out on purpose, as sentences for the result. */
  notes: readonly string[];
}

const ACTION_ALIASES: Readonly<Record<string, string>> = {
  run_now: "run",
  runNow: "run",
  trigger: "run",
  add: "create",
  delete: "remove",
  edit: "update",
  get: "show",
};

const KEY_ALIASES: Readonly<Record<string, string>> = {
  jobId: "id",
  enabledToolsets: "toolsets",
  skill: "skills",
  toolset: "toolsets",
};

/** People own these: which model works, and with whose key (upstream.md 1.6). */
const PEOPLES: ReadonlySet<string> = new Set([
  "model",
  "provider",
  "baseUrl",
  "apiKey",
  "key",
  "reasoningEffort",
  "budget",
  "runner",
]);

/** `allowed` = keys of people's that this tool does take. */
export function normaliseArguments(value: unknown, allowed: readonly string[] = []): NormalisedArguments {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { value, notes: [] };
  const normal: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [written, given] of Object.entries(value)) {
    const camel = camelCase(written);
    const key = KEY_ALIASES[camel] ?? camel;
    // A model that fills in every key of a schema writes null for "nothing".
    if (given === null) continue;
    if (PEOPLES.has(key) && !allowed.includes(key)) ignored.push(written);
    // Two spellings of one key: the second is left for the schema to refuse.
    else normal[key in normal ? written : key] = normaliseValue(key, given);
  }
  return { value: normal, notes: ignored.length > 0 ? [ignoredNote(ignored)] : [] };
}

function ignoredNote(keys: readonly string[]): string {
  return `${keys.join(", ")} ${keys.length > 1 ? "were" : "was"} ignored: a person chooses that, with \`nightshift job update\` or in config.yaml.`;
}

function normaliseValue(key: string, given: unknown): unknown {
  if (key === "action" && typeof given === "string") return ACTION_ALIASES[given.trim()] ?? given.trim();
  if (LISTS.has(key)) return listOf(given);
  if (key === "repeat") return repeatOf(given);
  return given;
}

const LISTS: ReadonlySet<string> = new Set([
  "deliver",
  "onFailure",
  "skills",
  "toolsets",
  "contextFrom",
  "args",
]);

/** `"local"` → `["local"]`; `"[\"a\", \"b\"]"` → the list it is; `none` and `""` → nowhere. */
function listOf(given: unknown): unknown {
  if (typeof given !== "string") return given;
  const text = given.trim();
  if (text === "" || text.toLowerCase() === "none") return [];
  if (text.startsWith("[")) {
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list)) return list;
    } catch {
      // No list then: whoever reads it says what is wrong.
    }
  }
  return [text];
}

/** A count, or `forever`; anything else stays for the schema to refuse. */
export function repeatOf(given: unknown): unknown {
  if (typeof given !== "string") return given === 0 || given === -1 ? "forever" : given;
  const text = given.trim().toLowerCase();
  if (["forever", "infinite", "infinity", "always", "unlimited", "-1", "0"].includes(text)) return "forever";
  if (["once", "one", "one time"].includes(text)) return 1;
  if (text === "twice") return 2;
  const digits = /^(\d{1,9})\s*(?:x|times?)?$/.exec(text)?.[1];
  return digits === undefined ? given : Number(digits);
}
