// A machine with GPUs, as far as `nvidia-smi` is believed.

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempFolder } from "../../support/temp.ts";

/** A PATH whose `nvidia-smi` says this, a line for each card: `16384, 16000`. */
export async function pathWithCards(...cards: string[]): Promise<string> {
  const folder = await tempFolder();
  const file = join(folder, "nvidia-smi");
  await writeFile(file, `#!/bin/sh\n${cards.map((card) => `echo "${card}"`).join("\n")}\n`);
  await chmod(file, 0o700);
  return `${folder}:/usr/bin:/bin`;
}
