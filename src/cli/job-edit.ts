// `job edit`: $EDITOR on a copy; the person's text is kept whatever goes wrong (D3).

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readJobText, replaceJobText } from "../app/job-editing.ts";
import { Fault, isFault } from "../kernel/errors.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { type Io, print } from "./io.ts";
import { echoText } from "./job-text.ts";

export const edit: RunCommand = async ({ args: [id = ""], io, open }) => {
  const context = await open();
  const { view, text, digest } = await readJobText(context, id);
  const folder = await mkdtemp(join(tmpdir(), "nightshift-edit-"));
  const copy = join(folder, `${view.definition.jobId}.yaml`);
  await writeFile(copy, text, { mode: 0o600 });
  await runEditor(io, copy);
  const edited = await readFile(copy, "utf8");
  if (edited === text) {
    await rm(folder, { recursive: true });
    io.note(`Nothing was changed in job ${view.definition.jobId}.`);
    return EXIT.ok;
  }
  try {
    const echo = await replaceJobText(context, view, { text: edited, digest });
    await rm(folder, { recursive: true });
    print(io, echo, () => echoText("Changed", echo));
    return EXIT.ok;
  } catch (error) {
    if (!isFault(error)) throw error;
    throw new Fault(error.code, error.message, {
      hint: `${error.hint} Your text is kept in ${copy}.`,
      cause: error,
      ...(error.place && { place: error.place }),
      details: { ...error.details, keptAt: copy },
    });
  }
};

async function runEditor(io: Io, file: string): Promise<void> {
  const editor = io.env.VISUAL || io.env.EDITOR || "vi";
  // Through the shell, since people write `code --wait`; the file's name is an argument, never part of the text.
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) {
    throw new Fault(
      "input.refused",
      `The editor "${editor}" ended with ${code ?? "a signal"}; nothing was changed.`,
      {
        hint: `Your text is kept in ${file}. Set EDITOR to another program if this one does not work.`,
      },
    );
  }
}
