// A page of lines out of a kept text.

export interface LogPage {
  text: string;
  /** Whether it is all there is. */
  isWhole: boolean;
}

/** The last `lines` lines, or those from line `offset` (0 = the first kept one) on. */
export function pageOf(kept: string, page: { offset: number | undefined; lines: number }): LogPage {
  const all = kept.split("\n");
  const endsWithNewline = all.at(-1) === "";
  if (endsWithNewline) all.pop();
  const from =
    page.offset === undefined ? Math.max(0, all.length - page.lines) : Math.max(0, Math.floor(page.offset));
  const shown = all.slice(from, from + page.lines);
  const isLast = from + shown.length >= all.length;
  const text = shown.length === 0 ? "" : `${shown.join("\n")}${isLast && !endsWithNewline ? "" : "\n"}`;
  return { text, isWhole: shown.length === all.length };
}
