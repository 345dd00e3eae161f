// Whether a pre-run script's output wakes the agent (U3). Pure.

export type WakeGate =
  | { isWoken: false; reason: "empty" | "gate" }
  /** The script's output without its gate line. */
  | { isWoken: true; text: string };

/**
 * Nothing but white space, or a last line that is a JSON object with `wakeAgent: false`, means no model call at all.
 * A gate line that says `true` wakes also without any other output. Any other JSON is output.
 */
export function readWakeGate(stdout: string): WakeGate {
  const text = stdout.trimEnd();
  if (text === "") return { isWoken: false, reason: "empty" };
  const start = text.lastIndexOf("\n") + 1;
  const wakeAgent = gateOf(text.slice(start));
  if (wakeAgent === undefined) return { isWoken: true, text: stdout };
  return wakeAgent ? { isWoken: true, text: text.slice(0, start) } : { isWoken: false, reason: "gate" };
}

function gateOf(line: string): boolean | undefined {
  const trimmed = line.trim();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}")) return undefined;
  try {
    const value: unknown = JSON.parse(trimmed);
    const gate =
      typeof value === "object" && value !== null && "wakeAgent" in value ? value.wakeAgent : undefined;
    return typeof gate === "boolean" ? gate : undefined;
  } catch {
    return undefined;
  }
}
