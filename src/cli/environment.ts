// `environment list | check | exec | reap`: the places where commands run.

import { reapEnvironments } from "../app/environments.ts";
import { checkNamed, type EnvironmentDocument, execIn, listEnvironments } from "../app/environments-here.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { durationOption } from "./options.ts";

export const list: RunCommand = async ({ io, open }) => {
  const documents = await listEnvironments(await open());
  const rows = documents.map((one) => [
    one.name,
    one.isUsable ? "yes" : "no",
    one.usedBy.join(", ") || "–",
    one.isUsable ? one.what : `${one.why}. ${one.hint}`,
  ]);
  print(io, documents, () => table(["NAME", "USABLE", "JOBS", "WHAT, OR WHY NOT"], rows));
  return EXIT.ok;
};

export const check: RunCommand = async ({ args: [name = ""], io, open }) => {
  const document = await checkNamed(await open(), name);
  print(io, document, () => checkText(document));
  return document.isUsable ? EXIT.ok : EXIT.failed;
};

function checkText({ what, isUsable, notes, why, hint }: EnvironmentDocument): string {
  if (!isUsable) return `✗ ${what}\n  ${why}\n  → ${hint}`;
  return [`✓ ${what}`, ...notes.map((note) => `  ${note}`)].join("\n");
}

/** Its output is passed on as it comes, its exit code is ours; with `--json` both are in one document at the end. */
export const exec: RunCommand = async ({ args: [name = "", ...words], options, io, open }) => {
  const timeoutMs = durationOption(options, "timeout");
  const result = await execIn(await open(), name, {
    // One word is shell text; several are a program and its arguments, kept apart.
    command: words.length === 1 ? (words[0] ?? "") : words.map((word) => quoted(word ?? "")).join(" "),
    workdir: io.cwd,
    signal: io.signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(!io.isJson && { onOutput: (stream, bytes) => io.pass(stream, bytes) }),
  });
  if (io.isJson) {
    const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("utf8");
    const { exitCode, timedOut, interrupted, truncated, durationMs, cwd } = result;
    const facts = { exitCode, timedOut, interrupted, truncated, durationMs, cwd };
    io.out(JSON.stringify({ ...facts, stdout: text(result.stdout), stderr: text(result.stderr) }, null, 2));
  }
  return result.exitCode;
};

const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

export const reap: RunCommand = async ({ io, open }) => {
  const removed = await reapEnvironments(await open());
  print(io, { removed }, () =>
    removed.length === 0 ? "Nothing was left behind." : removed.map((name) => `removed ${name}`).join("\n"),
  );
  return EXIT.ok;
};
