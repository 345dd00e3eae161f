// A file that a command line names, or standard input.

import { readFile } from "node:fs/promises";
import { Fault, messageOf } from "../kernel/errors.ts";
import type { Io } from "./io.ts";

/** `-` = standard input. Throws `input.not-found`. */
export async function readInput(io: Pick<Io, "readStdin">, file: string): Promise<string> {
  if (file === "-") return io.readStdin();
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Fault("input.not-found", `${file} cannot be read: ${messageOf(error)}.`, {
      hint: "Correct the file's name, or write - for standard input.",
    });
  }
}
