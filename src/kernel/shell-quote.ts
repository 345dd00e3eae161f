// A value as one word of a POSIX shell, whatever is in it.

/** Single quotes keep everything but themselves. NUL cannot be passed to any command: such a value is a bug here. */
export function quoteForShell(value: string): string {
  if (value.includes("\0")) throw new Error("a NUL cannot be quoted for a shell");
  return `'${value.replaceAll("'", `'\\''`)}'`;
}
