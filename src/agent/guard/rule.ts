// A rule as data: what it is for, why it exists, how it is told, with examples on both sides of its border.
//
// I1. A form is anchored: it is only tried where one of its words begins, and only looks a bounded way on. So a scan is
//     linear in the text, whatever the text is.

import { foldWord } from "./fold.ts";
import type { Pass } from "./pass.ts";

/** Strict: a prompt that somebody wrote. Loose: skills and data that reach a model (web, script output, context). */
export type ScanMode = "strict" | "loose";

/** What an attack is after. */
export type ThreatClass =
  | "injection"
  | "deception"
  | "override"
  | "disregard"
  | "secrets"
  | "exfiltration"
  | "backdoor"
  | "sudoers"
  | "destruction"
  | "invisible"
  | "node"
  | "self-scheduling";

/** One rule. Every example is tried by a test: `for` must be blocked by this rule, `against` must pass the whole guard. */
export interface Rule {
  /** Stable; told in verdicts, ledgers and docs. */
  id: string;
  class: ThreatClass;
  /** One sentence for the person whose text was blocked. */
  reason: string;
  modes: readonly ScanMode[];
  forms: readonly Form[];
  examples: { for: readonly string[]; against: readonly string[] };
}

/** How a rule is told: words that begin it, and what must stand there. */
export interface Form {
  /** In folded form, at least two characters each. */
  words: readonly string[];
  /** Whether the word must begin a word; false for scripts without spaces and for signs. */
  isWord: boolean;
  /** What the text must mention somewhere for this form to be tried at all; only for speed. */
  needs?: RegExp;
  /** Whether it holds at `place`, where `word` begins in the pass's text. */
  holds(pass: Pass, place: number, word: string): boolean;
}

/** What stands between two words: markup, quotes, line ends, but not the end of a sentence. */
const GAP = String.raw`[^\p{L}\p{N}.!?;]{1,8}`;
const WORD = String.raw`[\p{L}\p{N}]{1,24}`;

/**
 * A phrase in words: alternatives in parentheses, `{3}` = up to three words between. The first part must be
 * alternatives or a plain word; the last may go on (`instruction` also means `instructions`).
 */
export function phrase(text: string): Form {
  const [first = "", ...rest] = foldPattern(text).split(" ");
  const words = first.replace(/[()]/g, "");
  const tail = rest.map((part) => {
    const gap = /^\{(\d)\}$/.exec(part);
    return gap ? `(?:${GAP}${WORD}){0,${gap[1]}}?` : `${GAP}${part}`;
  });
  return matching(words, tail.join(""));
}

/** Words, then a pattern (its source, sticky, Unicode) that must match right behind. */
export function matching(words: string, tail: string): Form {
  return { words: words.split("|"), isWord: true, holds: holdsBehind(() => tail) };
}

/** As `matching`, where words are not set apart by spaces. The tail is folded like the words: write no upper-case class. */
export function unspaced(words: string | readonly string[], tail: string): Form {
  return { words: wordsOf(words).map(foldWord), isWord: false, holds: holdsBehind(() => foldPattern(tail)) };
}

/** Signs or words, and a pattern (its source) that must match from their first character on. */
export function beginning(words: string | readonly string[], source: string): Form {
  const holds = holdsBehind(() => source);
  return { words: wordsOf(words), isWord: false, holds: (pass, place) => holds(pass, place, "") };
}

/** A form that is only tried in texts that mention something. */
export function mentioning(needs: RegExp, form: Form): Form {
  return { ...form, needs };
}

/** A list, for words that hold `|` themselves; else one text with `|` between. */
function wordsOf(words: string | readonly string[]): readonly string[] {
  return typeof words === "string" ? words.split("|") : words;
}

/** Folds the words of a pattern; its property classes keep their spelling. */
function foldPattern(source: string): string {
  return foldWord(source).replaceAll("\\p{l}", "\\p{L}").replaceAll("\\p{n}", "\\p{N}");
}

/** The pattern is built when its word is first met: a scan meets few of them. */
function holdsBehind(source: () => string): Form["holds"] {
  let built: { pattern: RegExp; mayLetterFollow: boolean } | undefined;
  return ({ text }, place, word) => {
    built ??= build(source());
    const end = place + word.length;
    // `all` also begins `allow`: most words that are met are ruled out here, without the cost of a pattern.
    if (!built.mayLetterFollow && isLetterOrDigit(text.charCodeAt(end))) return false;
    built.pattern.lastIndex = end;
    return built.pattern.test(text);
  };
}

function build(source: string): { pattern: RegExp; mayLetterFollow: boolean } {
  return {
    pattern: new RegExp(source, "uy"),
    mayLetterFollow: isAlternation(source) || !NO_LETTER_FIRST.test(source),
  };
}

/** Whether `|` stands outside of every group and class. */
function isAlternation(source: string): boolean {
  const bare = source.replace(/\\./g, "").replace(/\[[^\]]*\]/g, "");
  let depth = 0;
  for (const sign of bare) {
    if (sign === "(") depth += 1;
    else if (sign === ")") depth -= 1;
    else if (sign === "|" && depth === 0) return true;
  }
  return false;
}

/** Patterns whose first character is neither a letter nor a digit: white space, or gaps (`phrase` and `TAKES` end in one). */
const NO_LETTER_FIRST =
  /^(?:\(\?<![^)]*\))?(?:\\s(?!\{0|[*?])|(?:\(\?:)?\[\^\\p\{L\}\\p\{N\}[^\]]*\](?!\{0|[*?]))/;

/** In folded ASCII. */
function isLetterOrDigit(unit: number): boolean {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

/** Words, then a function of the text behind them; it looks a bounded way on, and judges each command once. */
export function deciding(words: string, decide: (rest: string) => boolean): Form {
  return {
    words: words.split("|"),
    isWord: true,
    holds: ({ text, innocentUntil }, place, word) => {
      if (place < (innocentUntil.get(decide) ?? 0)) return false;
      const start = place + word.length;
      const rest = text.slice(start, start + REACH);
      if (decide(rest)) return true;
      const border = rest.search(/[\n;|&`]/);
      innocentUntil.set(decide, start + (border < 0 ? REACH / 2 : border));
      return false;
    },
  };
}

/** How far a deciding form looks, in characters. */
const REACH = 400;
