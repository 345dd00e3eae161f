// What an agent's last words mean to the run (DESIGN §6). Pure.
//
// A marker counts only where it stands alone: a reply that talks about `[SILENT]` is delivered.

export type FinalReply =
  /** Kept, not delivered; `text` is the whole reply. */
  | { kind: "silent"; text: string }
  /** The agent says itself that it failed. `text` is what followed the first line, for the alert. */
  | { kind: "failed"; why: string; text: string }
  | { kind: "text"; text: string }
  /** No text at all: a failure. */
  | { kind: "none" };

const SILENT = "[SILENT]";
const FAILED = "[FAILED]";
const NO_REASON = "the agent said it failed, without a reason";

/** Reads a whole final reply. `[FAILED]` wins over `[SILENT]`: a failure is never silent. */
export function readFinalReply(reply: string): FinalReply {
  const text = reply.trim();
  if (text === "") return { kind: "none" };
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const first = lines[0] ?? "";
  if (first === FAILED || first.startsWith(`${FAILED} `)) {
    const [, ...rest] = text.split(/\r?\n/);
    const after = rest.join("\n").trim();
    const why = first.slice(FAILED.length).trim() || after.split(/\r?\n/, 1)[0]?.trim();
    return { kind: "failed", why: why || NO_REASON, text: after };
  }
  if (first === SILENT || lines.at(-1) === SILENT) return { kind: "silent", text };
  return { kind: "text", text };
}
