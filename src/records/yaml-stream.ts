// Several documents in one text: a YAML stream (`---` between), or a JSON array. Each keeps its own bytes.

import { parseAllDocuments } from "yaml";
import { Fault } from "../kernel/errors.ts";

/** The texts of a stream, in order, empty ones left out. Throws Fault `job.yaml` for a text that cannot be read at all. */
export function splitYamlDocuments(text: string, file: string): string[] {
  if (text.trimStart().startsWith("[")) return splitJsonArray(text, file);
  const documents = parseAllDocuments(text, { keepSourceTokens: true });
  if (!Array.isArray(documents)) return [];
  const marks = [...text.matchAll(/^---(?:[ \t].*)?$/gm)].map((match) => match.index);
  // With errors the ranges cannot be trusted: the whole is handed on, and the document's own codec says what is wrong.
  if (documents.some((document) => document.errors.length > 0) || marks.length === 0)
    return [text].filter(isNotEmpty);
  const cuts = [0, ...marks, text.length];
  return cuts
    .slice(0, -1)
    .map((from, index) =>
      text
        .slice(from, cuts[index + 1])
        .replace(/^---[ \t]*\r?\n/, "")
        .replace(/\n\.\.\.\s*$/, "\n"),
    )
    .filter(isNotEmpty);
}

function isNotEmpty(text: string): boolean {
  return text.replace(/^\s*#.*$/gm, "").trim() !== "";
}

function splitJsonArray(text: string, file: string): string[] {
  try {
    const items: unknown = JSON.parse(text);
    if (Array.isArray(items)) return items.map((item) => `${JSON.stringify(item, null, 2)}\n`);
  } catch (error) {
    throw new Fault("job.yaml", `${file}: this is no JSON array`, {
      hint: "Correct the JSON, or write YAML documents.",
      cause: error,
    });
  }
  return [];
}
