// Two things CEL does not have are written as things it has: `a ?? b` becomes `orElse(a, b)`, and the names of a workflow
// get a prefix, so that a task may be called `list` or `loop` (both mean something in CEL).
//
// I1. `??` binds more loosely than every other operator but `?:`; it reads from the right, as in other languages.
// I2. Every character of the result knows where in the source it stood, so that mistakes keep their place.

/** What names of a workflow are called inside CEL. */
export const NAME_PREFIX = "ns_";

export interface Rewritten {
  text: string;
  /** The position in the source that a position in `text` stands for. */
  sourceAt(position: number): number;
}

interface Mapped {
  text: string;
  at: number[];
}

const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const TOKEN =
  /\/\/[^\n]*|[rRbB]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\[\s\S]|[^"\\])*(?:"|$)|'(?:\\[\s\S]|[^'\\])*(?:'|$))|[A-Za-z_][A-Za-z0-9_]*|\d[\w.]*|\?\?|[\s\S]/gy;

/** CEL for a source of ours. Never throws: what is no CEL stays none, and CEL's parser says so. */
export function rewriteForCel(source: string, isName: (word: string) => boolean): Rewritten {
  const tokens = [...source.matchAll(TOKEN)].map((match) => ({ text: match[0], at: match.index }));
  let next = 0;
  const group = (closer: string | undefined): Mapped => {
    const done: Mapped[] = [];
    let operands: Mapped[] = [empty()];
    for (; next < tokens.length; next += 1) {
      const token = tokens[next];
      if (!token || token.text === closer) break;
      const current = operands[operands.length - 1] ?? empty();
      if (token.text === "??") operands.push(empty());
      else if (token.text === "," || token.text === "?" || token.text === ":") {
        done.push(coalesce(operands), literal(token.text, token.at));
        operands = [empty()];
      } else append(current, word(tokens, next, isName));
      const inner = CLOSERS[token.text];
      if (inner === undefined) continue;
      next += 1;
      append(current, group(inner));
      const end = tokens[next];
      if (end) append(current, literal(end.text, end.at));
    }
    return [...done, coalesce(operands)].reduce((all, part) => append(all, part), empty());
  };
  const result = group(undefined);
  return {
    text: result.text,
    sourceAt: (position) => result.at[Math.min(position, result.at.length - 1)] ?? source.length,
  };
}

type Token = { text: string; at: number };

/** A token as CEL is to see it. */
function word(tokens: readonly Token[], index: number, isName: (word: string) => boolean): Mapped {
  const token = tokens[index] ?? { text: "", at: 0 };
  const isField = neighbour(tokens, index, -1) === ".";
  const isCall = neighbour(tokens, index, 1) === "(";
  if (!/^[A-Za-z_]/.test(token.text) || isField || isCall || !isName(token.text))
    return literal(token.text, token.at);
  return append(constant(NAME_PREFIX, token.at), literal(token.text, token.at));
}

function neighbour(tokens: readonly Token[], index: number, step: 1 | -1): string | undefined {
  let at = index + step;
  while (tokens[at] !== undefined && /^\s+$/.test(tokens[at]?.text ?? "")) at += step;
  return tokens[at]?.text;
}

function coalesce(operands: Mapped[]): Mapped {
  const [first = empty(), ...rest] = operands;
  if (rest.length === 0) return first;
  const at = first.at[0] ?? 0;
  const others = coalesce(rest);
  const end = (others.at.at(-1) ?? at) + 1;
  const parts = [constant("orElse(", at), first, constant(",", end), others, constant(")", end)];
  return parts.reduce((all, part) => append(all, part), empty());
}

const empty = (): Mapped => ({ text: "", at: [] });
const literal = (text: string, at: number): Mapped => ({ text, at: [...text].map((_, index) => at + index) });
const constant = (text: string, at: number): Mapped => ({ text, at: Array(text.length).fill(at) });

function append(target: Mapped, part: Mapped): Mapped {
  target.text += part.text;
  for (const at of part.at) target.at.push(at);
  return target;
}
