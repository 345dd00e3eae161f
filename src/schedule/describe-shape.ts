// The shape of a cron field's values, so that words can be chosen by it; and lists in English.

export type Shape =
  | { kind: "all" }
  | { kind: "single"; value: number }
  /** Every `step` values through the whole field, evenly, so that it stays even over the wrap. */
  | { kind: "even"; step: number; first: number }
  | { kind: "range"; first: number; last: number }
  /** Every `step` values between two ends. */
  | { kind: "stepped"; step: number; first: number; last: number }
  | { kind: "list"; values: readonly number[] };

/** Classifies ascending `values` of a field with `size` values, the lowest being `min`. */
export function shapeOf(values: readonly number[], size: number, min = 0): Shape {
  const [first = 0, second] = values;
  const last = values.at(-1) ?? first;
  if (values.length === size) return { kind: "all" };
  if (second === undefined) return { kind: "single", value: first };
  const step = second - first;
  const isSteady = values.every((value, index) => value === first + index * step);
  if (!isSteady || values.length < 3) return { kind: "list", values };
  if (step === 1) return { kind: "range", first, last };
  if (size % step === 0 && first - min < step && values.length === size / step)
    return { kind: "even", step, first };
  return { kind: "stepped", step, first, last };
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[], joiner = "and"): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(", ")} ${joiner} ${words.at(-1)}`;
}

/** `1st`, `2nd`, `3rd`, `11th`, `21st`. */
export function ordinal(value: number): string {
  const tens = value % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${value}${suffix}`;
}

/** `1 minute`, `5 minutes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
