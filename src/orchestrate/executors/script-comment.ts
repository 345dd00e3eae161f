// A script's leading comment, whatever its language: the lines before its first statement, without their comment signs.

import type { TextLine } from "./metadata.ts";

/** Further in than this nobody looks for what a script says of itself. */
const MOST_LINES = 200;

const LINE_COMMENT = /^\s*(#|\/\/|--|;+|%|REM\b)\s?(.*)$/i;

/** Lines of the leading comment. The shebang and an encoding line are none of it. */
export function leadingComment(source: string): TextLine[] {
  const lines = source.replace(/^\uFEFF/, "").split(/\r?\n/, MOST_LINES);
  const found: TextLine[] = [];
  let isInBlock = false;
  for (const [index, raw] of lines.entries()) {
    if (index === 0 && raw.startsWith("#!")) continue;
    if (isInBlock) {
      const end = raw.indexOf("*/");
      push(found, (end < 0 ? raw : raw.slice(0, end)).replace(/^\s*\*\s?/, ""), index);
      isInBlock = end < 0;
      continue;
    }
    const block = /^\s*\/\*+(.*)$/.exec(raw);
    const line = LINE_COMMENT.exec(raw);
    if (block) {
      const end = (block[1] ?? "").indexOf("*/");
      push(found, end < 0 ? (block[1] ?? "") : (block[1] ?? "").slice(0, end), index);
      isInBlock = end < 0;
    } else if (line) {
      if (!/-\*-.*-\*-|vim?:|coding[:=]/.test(raw)) push(found, line[2] ?? "", index);
    } else if (raw.trim() !== "") break;
  }
  return found;
}

function push(found: TextLine[], text: string, index: number): void {
  found.push({ text, line: index + 1 });
}
