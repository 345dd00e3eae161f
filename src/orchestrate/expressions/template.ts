// Texts with templates in them: `{{ expr }}` (canonical), `${{ expr }}`, and the seed's `{head.path}` for known heads.
//
// I1. A text is parsed once; every other brace is literal text, so that awk programs, JSON and `${VAR}` survive.
// I2. A text that is one template and nothing else keeps its value's type; inside a text a value is written as text.
// I3. `{{{{` is a literal `{{`.

import type { Compiler, Evaluated, Expression, Reference, Scope } from "./expression.ts";

export interface TemplateIssue {
  what: string;
  hint: string;
  /** Characters from the beginning of the text, from 0. */
  at: number;
}

export type TemplatePart = { text: string } | { expression: Expression; at: number };

export interface Template {
  parts: readonly TemplatePart[];
  issues: readonly TemplateIssue[];
  references: readonly Reference[];
  /** Braces that look like a template of an unknown name and are literal text. */
  lookAlikes: readonly string[];
}

export interface Language {
  compiler: Compiler;
  isHead(name: string): boolean;
}

const SINGLE =
  /\{\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_0-9]+|\[\d+\])*)(\s*\?\?\s*(?:'[^'\n]*'|"[^"\n]*"|-?\d+(?:\.\d+)?|true|false|null))?\s*\}/y;

/** Parses a text. Never throws: what is wrong with it is in `issues`. */
export function parseTemplate(source: string, language: Language): Template {
  const parts: TemplatePart[] = [];
  const issues: TemplateIssue[] = [];
  const lookAlikes: string[] = [];
  let text = "";
  let at = 0;
  const addExpression = (code: string, from: number) => {
    const compiled = language.compiler.compile(code, language.isHead);
    if (!compiled.ok) return void issues.push({ ...compiled.issue, at: from + compiled.issue.at });
    if (text !== "") parts.push({ text });
    text = "";
    parts.push({ expression: compiled.expression, at: from });
  };
  while (at < source.length) {
    const found = templateAt(source, at, language);
    if (found?.kind === "expression") addExpression(found.code, found.from);
    else if (found?.kind === "unclosed") {
      const hint = "close it with }}, or write {{{{ for two braces";
      issues.push({ what: "a template is not closed", hint, at });
    } else if (found?.kind === "lookAlike") lookAlikes.push(source.slice(at, found.end));
    if (found?.kind !== "expression")
      text += found?.kind === "escape" ? "{{" : source.slice(at, found?.end ?? at + 1);
    at = found?.end ?? at + 1;
  }
  if (text !== "" || parts.length === 0) parts.push({ text });
  const references = parts.flatMap((part) =>
    "expression" in part
      ? part.expression.references.map((reference) => ({ ...reference, at: part.at + reference.at }))
      : [],
  );
  return { parts, issues, references, lookAlikes };
}

/** I2. */
export function renderTemplate(template: Template, scope: Scope): Evaluated {
  const [first] = template.parts;
  if (template.parts.length === 1 && first && "expression" in first) {
    const value = first.expression.evaluate(scope);
    return value.ok && isWholeError(first.expression) ? { ok: true, value: errorText(value.value) } : value;
  }
  let text = "";
  for (const part of template.parts) {
    if ("text" in part) {
      text += part.text;
      continue;
    }
    const value = part.expression.evaluate(scope);
    if (!value.ok) return value;
    text += isWholeError(part.expression) ? errorText(value.value) : textOf(value.value);
  }
  return { ok: true, value: text };
}

/** A value inside a text: texts as they are, everything else as compact JSON. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const isWholeError = (expression: Expression) => expression.source.trim() === "error";

/** @source peers.md §5.3: `{error}` is the activating failure as text; its fields are there as `{error.message}`. */
export function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null) return textOf(error);
  const { task, message, code, attempt } = error as Record<string, unknown>;
  const tries = typeof attempt === "number" && attempt > 1 ? ` after ${attempt} attempts` : "";
  return `${task === undefined ? "" : `${String(task)}: `}${String(message ?? "failed")}${code === undefined ? "" : ` (${String(code)})`}${tries}`;
}

type Found =
  | { kind: "expression"; code: string; from: number; end: number }
  | { kind: "escape"; end: number }
  | { kind: "unclosed"; end: number }
  | { kind: "lookAlike"; end: number };

function templateAt(source: string, at: number, language: Language): Found | undefined {
  if (source.startsWith("{{{{", at)) return { kind: "escape", end: at + 4 };
  const open = source.startsWith("{{", at) ? at + 2 : source.startsWith("${{", at) ? at + 3 : undefined;
  if (open !== undefined) {
    const close = closingBraces(source, open);
    if (close === undefined) return { kind: "unclosed", end: open };
    return { kind: "expression", code: source.slice(open, close), from: open, end: close + 2 };
  }
  // `${head}` is the shell's.
  if (source[at] !== "{" || source[at - 1] === "$") return undefined;
  SINGLE.lastIndex = at;
  const match = SINGLE.exec(source);
  if (!match) return undefined;
  const end = at + match[0].length;
  if (language.isHead(match[1] ?? ""))
    return { kind: "expression", code: match[0].slice(1, -1), from: at + 1, end };
  return /^\.(result|error|status|outputs)\b/.test(match[2] ?? "") ? { kind: "lookAlike", end } : undefined;
}

/** Where `}}` closes: not inside a text in quotes, and not the end of a map. */
function closingBraces(source: string, from: number): number | undefined {
  let depth = 0;
  let quote: string | undefined;
  for (let at = from; at < source.length; at += 1) {
    const character = source[at] ?? "";
    if (quote !== undefined) {
      if (character === "\\") at += 1;
      else if (character === quote) quote = undefined;
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "{") depth += 1;
    else if (character === "}") {
      if (depth === 0) return source[at + 1] === "}" ? at : undefined;
      depth -= 1;
    }
  }
  return undefined;
}
