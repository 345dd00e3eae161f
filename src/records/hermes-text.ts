// Reads jobs.json as it is found in the wild: a byte-order mark, raw control characters in texts, several outer shapes.
//
// I1. A text that is corrupt is a fault, never an empty list: an empty list would delete a person's jobs.
// I2. Long ids written as numbers keep all their digits: they become texts before JSON rounds them.

import { Fault, messageOf } from "../kernel/errors.ts";

/** Every record of the file with the key it stood under, and what was left out. */
export interface HermesRecords {
  records: { key: string | undefined; record: Record<string, unknown> }[];
  warnings: string[];
}

/**
 * The records of a jobs.json: an object with `jobs` (list or id map), a bare list, or an id map.
 * @throws Fault `input.invalid` when it is none of these or no JSON at all.
 */
export function readHermesRecords(text: string): HermesRecords {
  const root = parseJson(text.replace(/^\uFEFF/, ""));
  const jobs = isRecord(root) && Object.hasOwn(root, "jobs") ? root.jobs : root;
  if (Array.isArray(jobs)) return collect(jobs.map((record) => [undefined, record]));
  const isIdMap = isRecord(jobs) && (jobs !== root || looksLikeIdMap(jobs));
  if (isIdMap) return collect(Object.entries(jobs));
  throw corrupt("it holds no list of jobs");
}

function collect(entries: readonly (readonly [string | undefined, unknown])[]): HermesRecords {
  const records: HermesRecords["records"] = [];
  const warnings: string[] = [];
  for (const [index, [key, record]] of entries.entries()) {
    if (isRecord(record)) records.push({ key, record });
    else warnings.push(`Entry ${key ?? index + 1} is no job record and was left out.`);
  }
  if (records.length === 0 && entries.length > 0) throw corrupt("none of its entries is a job record");
  return { records, warnings };
}

/** An id map holds records only; an object of settings or a single job does not. */
function looksLikeIdMap(value: Record<string, unknown>): boolean {
  const members = Object.entries(value).filter(([key]) => key !== "updated_at");
  return members.length > 0 && members.every(([, member]) => isRecord(member) && looksLikeJob(member));
}

function looksLikeJob(record: Record<string, unknown>): boolean {
  return ["schedule", "prompt", "script", "skills", "skill", "name"].some((key) =>
    Object.hasOwn(record, key),
  );
}

function parseJson(text: string): unknown {
  if (text.trim() === "") throw corrupt("it is empty");
  try {
    return JSON.parse(mend(text));
  } catch (error) {
    throw corrupt(messageOf(error), error);
  }
}

/** Escapes control characters inside strings and quotes whole numbers too long for JSON, leaving all else as it is. */
function mend(text: string): string {
  return text.replace(/"(?:[^"\\]|\\[\s\S])*"|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g, (token) => {
    if (!token.startsWith('"')) return `"${token}"`;
    return token.replace(/\p{Cc}/gu, (raw) => `\\u${raw.charCodeAt(0).toString(16).padStart(4, "0")}`);
  });
}

function corrupt(why: string, cause?: unknown): Fault {
  return new Fault("input.invalid", `this jobs.json cannot be read: ${why}`, {
    hint: "Restore it from a backup; nothing was imported and the file was not touched.",
    cause,
  });
}

/** Whether the value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value when it is a text with something in it. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}
