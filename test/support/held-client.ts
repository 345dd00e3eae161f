// A client program (docker, ssh, apptainer) that stops at chosen calls, so that a test can kill who called it right there.
//
// I1. Each hold catches one call, the first that fits; all others pass to the real program untouched.
// I2. A caught call stays until `release`, as a client that outlives a killed node would; then it ends without doing more.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Hold {
  /** A bash pattern for all its words. */
  when: string;
  /** The call is done first, and its caller never hears of it. */
  isDone?: boolean;
}

export interface HeldClient {
  /** First on the node's PATH. */
  bin: string;
  /** Names of holds that have caught nothing yet. */
  open(): string[];
  /** Lets all caught calls end. Idempotent. */
  release(): void;
}

/** Puts a program of that name into `folder`/bin. */
export async function holdClient(
  folder: string,
  program: string,
  holds: Readonly<Record<string, Hold>>,
): Promise<HeldClient> {
  const [bin, places] = [join(folder, "bin"), join(folder, "holds")];
  await mkdir(bin, { recursive: true });
  for (const [name, { when, isDone }] of Object.entries(holds)) {
    await mkdir(join(places, name), { recursive: true });
    await writeFile(join(places, name, "when"), when);
    await writeFile(join(places, name, "free"), "");
    if (isDone) await writeFile(join(places, name, "done-first"), "");
  }
  const gate = join(folder, "gate");
  execFileSync("mkfifo", [gate]);
  const real = execFileSync("/bin/sh", ["-c", 'command -v "$1"', "sh", program], { encoding: "utf8" }).trim();
  const text = `#!/bin/bash
words="$*"
for hold in '${places}'/*/; do
  when=$(<"$hold/when")
  [[ $words == $when ]] || continue
  mv "$hold/free" "$hold/taken" 2>/dev/null || continue
  [ ! -e "$hold/done-first" ] || '${real}' "$@" >/dev/null
  : >"$hold/reached"
  read -r _ <'${gate}'
  exit 1
done
exec '${real}' "$@"
`;
  await writeFile(join(bin, program), text);
  await chmod(join(bin, program), 0o755);
  return {
    bin,
    open: () => readdirSync(places).filter((name) => !existsSync(join(places, name, "reached"))),
    release() {
      // Opening to write waits for nobody: one word for each that may still read.
      const lines = Object.keys(holds)
        .map(() => "go")
        .join("\n");
      spawnSync("timeout", ["2", "/bin/sh", "-c", `echo "$1" >'${gate}'`, "sh", lines]);
    },
  };
}
