// Which variables go where: into an environment as a file (no value is ever on a command line, where every user could
// see it), and to the clients that carry commands there.

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

const CLIENT =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|SSH_\w+|KRB5\w+|(DOCKER|PODMAN|CONTAINERS?|XDG|SSL_CERT)_\w+|DBUS_SESSION_BUS_ADDRESS|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY)$/;

/**
 * What docker and ssh need of the node's environment, and no key of a model's provider: a client of ours is a process
 * that local commands of the same user can look at.
 */
export function clientEnv(
  nodeEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(nodeEnv).filter(([name]) => CLIENT.test(name)));
}
