// A script's first line, read as the kernel would: a program and at most one argument; `env` is looked through.

/**
 * `#!/bin/sh -e` → `{command: "/bin/sh", args: ["-e"]}`. `#!/usr/bin/env python3` → `python3` by its bare name, so that
 * a missing one is known before spawning; `env -S a b c` splits on blanks. What only `env` itself understands
 * (options, assignments, quotes) is left to it, in one argument, as the kernel does. Undefined without a shebang.
 * @source execve(2), env(1)
 */
export function parseShebang(head: string): { command: string; args: string[] } | undefined {
  if (!head.startsWith("#!")) return undefined;
  const [line = ""] = head.slice(2).split("\n", 1);
  const match = /^(\S+)(?:\s+(.*))?$/.exec(line.trim());
  if (!match) return undefined;
  const [, command = "", argument] = match;
  if (argument === undefined) return { command, args: [] };
  if (/(^|\/)env$/.test(command)) {
    const words = argument.replace(/^-S\s*/, "").split(/\s+/);
    const isSplit = argument.startsWith("-S");
    const [first = "", ...rest] = words;
    const isPlain = !/["'\\$#=]/.test(argument) && first !== "" && !first.startsWith("-");
    if (isPlain && (isSplit || rest.length === 0)) return { command: first, args: rest };
  }
  return { command, args: [argument] };
}
