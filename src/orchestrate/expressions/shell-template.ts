// A shell command with templates: values reach it as environment variables in double quotes, never as spliced text.
//
// I1. No value is ever part of the command's text, so no value can become code. Where a variable could not be placed in
// quotes (a here-document, arithmetic, `${…}`, backquotes, `$'…'`), the template is refused.
// @source peers.md §5.3; dagu#231, dagu#917, dagu#2739: values spliced into a shell, or passed through unresolved.

import type { Evaluated, Expression, Scope } from "./expression.ts";
import { errorText, type Template, type TemplateIssue, textOf } from "./template.ts";

export interface ShellCommand {
  command: string;
  /** To be added to the command's environment. */
  env: Record<string, string>;
}

export interface ShellTemplate {
  command: string;
  variables: readonly (readonly [name: string, Expression])[];
  issues: readonly TemplateIssue[];
}

/** Names are numbered in order of appearance and begin with this. */
const VARIABLE = "NIGHTSHIFT_VALUE_";

/** Puts a variable where each template stands, quoted as its place demands. */
export function compileShell(template: Template): ShellTemplate {
  const scanner = new Scanner();
  const variables: [string, Expression][] = [];
  const issues: TemplateIssue[] = [];
  let command = "";
  for (const part of template.parts) {
    if ("text" in part) {
      scanner.read(part.text);
      command += part.text;
      continue;
    }
    const place = scanner.place();
    if (place.kind === "refused") {
      const hint = "pass the value through `env:` and use the variable there";
      issues.push({ what: `a template cannot stand inside ${place.inside}`, hint, at: part.at });
      continue;
    }
    const name = `${VARIABLE}${variables.length + 1}`;
    variables.push([name, part.expression]);
    command += quoted(name, place.kind);
    scanner.wordGoesOn();
  }
  return { command, variables, issues };
}

/** The command and its variables; the first expression that fails is the answer. */
export function renderShell(
  template: ShellTemplate,
  scope: Scope,
): { ok: true; value: ShellCommand } | Extract<Evaluated, { ok: false }> {
  const env: Record<string, string> = {};
  for (const [name, expression] of template.variables) {
    const result = expression.evaluate(scope);
    if (!result.ok) return result;
    const text = expression.source.trim() === "error" ? errorText(result.value) : textOf(result.value);
    if (text.includes("\0"))
      return { ok: false, code: "evaluation", message: "a NUL cannot be passed to a command" };
    env[name] = text;
  }
  return { ok: true, value: { command: template.command, env } };
}

type Quoting = "none" | "double" | "single";

function quoted(name: string, quoting: Quoting): string {
  if (quoting === "double") return `\${${name}}`;
  // Leaves the single quotes, stands in double ones, and enters the single ones again.
  return quoting === "single" ? `'"\${${name}}"'` : `"\${${name}}"`;
}

type Frame = "none" | "double" | "single" | "ansi" | "comment" | "parameter" | "arithmetic" | "backquote";

/** Follows a POSIX shell's quoting through a text, one character at a time. */
class Scanner {
  #frames: Frame[] = ["none"];
  #hasHereDocument = false;
  #isWordStart = true;
  /** Open parentheses of a sub-shell inside the current unquoted frame. */
  #parens: number[] = [0];

  read(text: string): void {
    for (let at = 0; at < text.length; ) at += this.#step(text, at);
  }

  wordGoesOn(): void {
    this.#isWordStart = false;
  }

  place(): { kind: Quoting } | { kind: "refused"; inside: string } {
    if (this.#hasHereDocument) return { kind: "refused", inside: "or after a here-document (<<)" };
    const refused: Partial<Record<Frame, string>> = {
      ansi: "$'…'",
      comment: "a comment",
      parameter: "${…}",
      arithmetic: "arithmetic",
      backquote: "backquotes",
    };
    const inside = this.#frames.map((frame) => refused[frame]).find((name) => name !== undefined);
    if (inside !== undefined) return { kind: "refused", inside };
    const frame = this.#frame();
    return { kind: frame === "single" || frame === "double" ? frame : "none" };
  }

  #frame(): Frame {
    return this.#frames[this.#frames.length - 1] ?? "none";
  }

  /** How many characters were taken. */
  #step(text: string, at: number): number {
    const frame = this.#frame();
    const character = text[at] ?? "";
    if (frame === "single") return this.#closeAt(character === "'");
    if (frame === "comment") return this.#closeAt(character === "\n");
    if (character === "\\") {
      this.#isWordStart = false;
      return 2;
    }
    if (frame === "ansi") return this.#closeAt(character === "'");
    if (frame === "double" && character === '"') return this.#closeAt(true);
    if (frame === "backquote" && character === "`") return this.#closeAt(true);
    if (frame === "parameter" && character === "}") return this.#closeAt(true);
    if (frame === "arithmetic" && text.startsWith("))", at)) return this.#closeAt(true) + 1;
    return this.#open(text, at) ?? this.#plain(text, at);
  }

  #open(text: string, at: number): number | undefined {
    const inQuotes = this.#frame() === "double";
    const openers: readonly (readonly [string, Frame, boolean])[] = [
      ["$((", "arithmetic", true],
      ["$(", "none", true],
      ["${", "parameter", true],
      ["$[", "arithmetic", true],
      ["`", "backquote", true],
      ["$'", "ansi", !inQuotes],
      ["((", "arithmetic", !inQuotes],
      ["'", "single", !inQuotes && this.#frame() !== "parameter"],
      ['"', "double", !inQuotes],
    ];
    const opener = openers.find(([mark, , isHere]) => isHere && text.startsWith(mark, at));
    if (!opener) return undefined;
    this.#frames.push(opener[1]);
    this.#parens.push(0);
    this.#isWordStart = opener[1] === "none";
    return opener[0].length;
  }

  #plain(text: string, at: number): number {
    const character = text[at] ?? "";
    if (this.#frame() !== "none") return 1;
    if (text.startsWith("<<", at)) {
      // `<<<` takes one word and is quoted as any other.
      if (text.startsWith("<<<", at)) return 3;
      this.#hasHereDocument = true;
      return 2;
    }
    if (character === "#" && this.#isWordStart) {
      this.#frames.push("comment");
      this.#parens.push(0);
      return 1;
    }
    const depth = this.#parens.length - 1;
    if (character === "(") this.#parens[depth] = (this.#parens[depth] ?? 0) + 1;
    if (character === ")") {
      if ((this.#parens[depth] ?? 0) === 0 && this.#frames.length > 1) return this.#closeAt(true);
      this.#parens[depth] = Math.max(0, (this.#parens[depth] ?? 0) - 1);
    }
    this.#isWordStart = /[\s;&|()]/.test(character);
    return 1;
  }

  #closeAt(isEnd: boolean): number {
    if (isEnd && this.#frames.length > 1) {
      const closed = this.#frames.pop();
      this.#parens.pop();
      this.#isWordStart = closed === "comment";
    }
    return 1;
  }
}
