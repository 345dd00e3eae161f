// Variables as a file that the shell inside reads: no value is ever on a command line, where every user could see it.

/** Names that make sense on any machine; the rest of the node's own (PATH, HOME, locale) stays here. */
export function travellingEnv(
  env: Readonly<Record<string, string>>,
  jobEnvNames: readonly string[],
): Record<string, string> {
  const travels = (name: string) =>
    name === "TZ" || name.startsWith("NIGHTSHIFT_") || jobEnvNames.includes(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => travels(name)));
}

/** Shell text that exports them, quoted. */
export function exportsOf(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    .join("");
}
