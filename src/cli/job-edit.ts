// `job edit`: $EDITOR on a copy; the person's text is kept whatever goes wrong (D3).

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readJobText, replaceJobText } from "../app/job-editing.ts";
import { Fault, isFault, messageOf } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { echoText } from "./job-text.ts";

export const edit: RunCommand = async ({ args: [id = ""], io, open }) => {
  const context = await open();
  const { view, text, digest } = await readJobText(context, id);
  const { jobId } = view.definition;
  const folder = await mkdtemp(join(tmpdir(), "nightshift-edit-"));
  const copy = join(folder, `${jobId}.yaml`);
  await writeFile(copy, text, { mode: 0o600 });
  const failure = await runEditor(io, copy);
  const edited = await readFile(copy, "utf8").catch(() => undefined);
  if (edited === undefined || edited === text) {
    await rm(folder, { recursive: true });
    if (failure !== undefined) throw editorFailed(failure, "Set EDITOR to a program that works here.");
    io.note(`Nothing was changed in job ${jobId}.`);
    return EXIT.ok;
  }
  if (failure !== undefined) throw editorFailed(failure, `Your text is kept in ${copy}.`);
  try {
    const echo = await replaceJobText(context, view, { text: edited, digest });
    await rm(folder, { recursive: true });
    print(io, echo, () => echoText("Changed", echo));
    return EXIT.ok;
  } catch (error) {
    throw keepingText(error, copy);
  }
};

/** Whatever went wrong, the person is told where their text is. */
function keepingText(error: unknown, copy: string): unknown {
  if (!isFault(error))
    return new Error(`${messageOf(error)}; your text is kept in ${copy}`, { cause: error });
  return new Fault(error.code, error.message, {
    hint: `${error.hint.replace(/[^.!?…]$/, "$&.")} Your text is kept in ${copy}.`,
    cause: error,
    ...(error.place && { place: error.place }),
    details: { ...error.details, keptAt: copy },
  });
}

function editorFailed(what: string, hint: string): Fault {
  return new Fault("input.refused", `${what}; nothing was changed.`, { hint });
}

/** Resolves to what went wrong, or undefined. */
async function runEditor(io: Io, file: string): Promise<string | undefined> {
  const editor = io.env.VISUAL || io.env.EDITOR || "vi";
  // Through the shell, since people write `code --wait`; the file's name is an argument, never part of the text.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  return code === 0 ? undefined : `The editor "${editor}" ended with ${code ?? "a signal"}`;
}
