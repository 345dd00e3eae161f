// The newest output of a background process as text, redacted: what leaves goes through here.

import { spoolTail, textOfBytes } from "../../execute/background/spool.ts";
import type { BackgroundRecord } from "../../records/background.ts";
import type { Context } from "../context.ts";
import { outputFolder } from "./observe.ts";

/** At most so many characters, none of them half; `isWhole` = nothing came before. */
export async function keptText(
  context: Context,
  record: BackgroundRecord,
  characters: number,
): Promise<{ text: string; isWhole: boolean }> {
  // At most four bytes stand for one character.
  const tail = await spoolTail(outputFolder(context, record), 4 * characters);
  const text = context.redact(textOfBytes(tail.bytes));
  const isWhole = tail.isWhole && text.length <= characters;
  return { text: text.slice(-characters).replace(/^[\uDC00-\uDFFF]/, ""), isWhole };
}
