// A skill: a folder with a SKILL.md, whose front matter says what it is for and whose body says how to do it.
// @source the open Agent Skills format (agentskills.io/specification).
//
// I1. What other agents put into the front matter is no fault: unknown keys are left alone.

import * as z from "zod/mini";
import { Fault, isFault } from "../../kernel/errors.ts";
import { issuesOf } from "../../records/document-issues.ts";
import { parseYamlDocument } from "../../records/yaml-text.ts";

/** A SKILL.md has at most this many characters; longer instructions belong into files beside it. */
export const MAX_SKILL_CHARACTERS = 60_000;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1_024;

export interface Skill {
  name: string;
  /** What it does and when to use it. One to 1,024 characters. */
  description: string;
  license: string | undefined;
  /** What it needs around it, in words. */
  compatibility: string | undefined;
  /** As written; it grants nothing here: grants are the job's toolsets. */
  allowedTools: readonly string[];
  metadata: Readonly<Record<string, string>>;
  /** Markdown below the front matter. */
  body: string;
  /** Absolute. */
  folder: string;
}

const frontMatter = z.looseObject({
  name: z.string(),
  description: z.string().check(
    z.refine((text) => text.trim() !== "", "is empty; say what the skill does and when to use it"),
    z.maxLength(MAX_DESCRIPTION, `is too long; write at most ${MAX_DESCRIPTION} characters`),
  ),
  license: z.optional(z.string()),
  compatibility: z.optional(z.string()),
  "allowed-tools": z.optional(z.union([z.string(), z.array(z.string())])),
  metadata: z.optional(z.record(z.string(), z.unknown())),
});

/** Whether a folder can hold a skill of its name: lower-case letters, digits and single hyphens, at most 64. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
}

/** Reads a SKILL.md. Throws Fault `skill.invalid`, with line and column where a text has them. */
export function parseSkill(
  text: string,
  { folder, folderName }: { folder: string; folderName: string },
): Skill {
  const file = `skills/${folderName}/SKILL.md`;
  if (text.length > MAX_SKILL_CHARACTERS)
    throw invalid(
      `${file} has ${text.length} characters`,
      `Keep at most ${MAX_SKILL_CHARACTERS}; move the rest into files beside it.`,
    );
  const { yaml, body } = split(text, file);
  const document = readYaml(yaml, file);
  const parsed = frontMatter.safeParse(document.value);
  if (!parsed.success) {
    const [issue] = issuesOf(parsed.error.issues, document.value, frontMatter);
    throw invalid(`${file}: ${issue?.what ?? "the front matter does not fit"}`, issue?.hint ?? "Correct it.");
  }
  const { name, description, license, compatibility, metadata = {} } = parsed.data;
  const why = whyNotNamed(name, folderName);
  if (why) throw invalid(`${file}: ${why.what}`, why.hint);
  return {
    name,
    description: description.trim(),
    license,
    compatibility,
    allowedTools: wordsOf(parsed.data["allowed-tools"]),
    metadata: Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, String(value)])),
    body: body.trim(),
    folder,
  };
}

/** The text between the two `---` lines, and what is below. */
function split(text: string, file: string): { yaml: string; body: string } {
  const match = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match)
    throw invalid(
      `${file} has no front matter`,
      "Begin it with a line `---`, then `name:` and `description:`, then a line `---`.",
    );
  return { yaml: match[1] ?? "", body: text.slice(match[0].length) };
}

function readYaml(yaml: string, file: string) {
  try {
    // A line before it stands for the `---`, so that places are those of the file.
    return parseYamlDocument(`#\n${yaml}`, file);
  } catch (error) {
    if (!isFault(error)) throw error;
    throw new Fault("skill.invalid", error.message, {
      hint: error.hint,
      cause: error,
      ...(error.place ? { place: error.place } : {}),
    });
  }
}

function whyNotNamed(name: string, folderName: string): { what: string; hint: string } | undefined {
  if (!isSkillName(name))
    return {
      what: `"${name}" is no skill's name`,
      hint: `Write lower-case letters, digits and single hyphens, at most ${MAX_NAME}.`,
    };
  if (name === folderName) return undefined;
  return {
    what: `its name is "${name}", its folder's is "${folderName}"`,
    hint: "Give both the same name.",
  };
}

/** A list, or words in one text. Words may hold parentheses with spaces: `Bash(git add *)`. */
function wordsOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  if (typeof value !== "string") return value;
  return value.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [];
}

function invalid(message: string, hint: string): Fault {
  return new Fault("skill.invalid", message, { hint: `${hint.charAt(0).toUpperCase()}${hint.slice(1)}` });
}
