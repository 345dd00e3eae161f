// The permission bits of a file that is about to be replaced: a script that was executable stays so.

import { quoteForShell } from "../../kernel/shell-quote.ts";
import { MINUTE } from "../../kernel/time.ts";
import type { Environment } from "../../records/environment.ts";
import { decodeOutput } from "./decode-output.ts";

/** Undefined for a file that does not exist. GNU and BusyBox spell it `-c %a`, BSD and macOS `-f %Lp`. */
export async function fileMode(
  environment: Environment,
  path: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const file = quoteForShell(path);
  const command = `stat -L -c %a ${file} 2>/dev/null || stat -L -f %Lp ${file} 2>/dev/null`;
  const { exitCode, stdout } = await environment.exec(command, { signal, timeoutMs: MINUTE });
  const text = decodeOutput(stdout, false).trim();
  return exitCode === 0 && /^[0-7]{1,4}$/.test(text) ? Number.parseInt(text, 8) : undefined;
}
