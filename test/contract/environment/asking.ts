// How the contract's tests talk to an environment.

import { setTimeout as sleep } from "node:timers/promises";
import type { CommandResult, Environment, ExecOptions } from "../../../src/records/environment.ts";

export const never = new AbortController().signal;

export function exec(
  environment: Environment,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<CommandResult> {
  return environment.exec(command, { signal: never, timeoutMs: 60_000, ...options });
}

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");

/** What a command prints, which must end well. */
export async function said(
  environment: Environment,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<string> {
  const result = await exec(environment, command, options);
  if (result.exitCode !== 0)
    throw new Error(`exit ${result.exitCode} of ${command}: ${textOf(result.stderr)}`);
  return textOf(result.stdout);
}

let counter = 0;

/** A length of sleep that no other test uses: the process can be found by it. */
export function uniqueSeconds(): string {
  counter += 1;
  return `${70_000 + (process.pid % 10_000)}.${String(counter).padStart(4, "0")}`;
}

/**
 * How many processes inside sleep for so long, or have it anywhere in their arguments. The asking shell itself is not
 * counted: it gets the word in two halves.
 */
export async function countInside(
  environment: Environment,
  word: string,
  where: "sleeping" | "anywhere" = "anywhere",
): Promise<number> {
  const [first, rest] = [word.slice(0, 2), word.slice(2)];
  const command = `count=0
while IFS= read -r text; do
  case $text in ${where === "sleeping" ? "" : "*"}"sleep $FIRST$REST"*) count=$((count + 1)) ;; esac
done <<EOF
$(ps -eo args 2>/dev/null || ps -o args)
EOF
echo $count`;
  return Number(await said(environment, command, { env: { FIRST: first, REST: rest } }));
}

/** Waits until as many processes sleep for so long inside: no event tells of it. */
export async function untilInside(environment: Environment, word: string, count: number): Promise<void> {
  for (let turn = 0; turn < 50; turn++) {
    if ((await countInside(environment, word, "sleeping")) === count) return;
    await sleep(20);
  }
  throw new Error(`never happened: ${count} processes with ${word} inside`);
}

/** Collects a stream's text until it has all of it. */
export async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString("utf8");
}
