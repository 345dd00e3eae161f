// Where Nightshift does not run it says so at once. The machine is told to Node as another one before the bin starts.

import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../support/temp.ts";

const BIN = join(import.meta.dirname, "../../bin/nightshift.js");

test.each([
  [
    "S6: native Windows",
    `Object.defineProperty(process, "platform", { value: "win32" });`,
    "nightshift: native Windows is not supported; run it inside WSL2.\n",
  ],
  [
    "S6: Node 18",
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.0" } });`,
    "nightshift: Node 18.20.0 is too old; install Node 20 or newer.\n",
  ],
])("%s is refused with one line and exit 2, and no home is made", async (_, pretend, line) => {
  const folder = await tempFolder();
  const preload = join(folder, "pretend.cjs");
  await writeFile(preload, pretend);
  const home = join(folder, "home");

  const ended = spawnSync(process.execPath, ["--require", preload, BIN, "--home", home, "status"], {
    encoding: "utf8",
  });

  expect([ended.status, ended.stdout, ended.stderr]).toEqual([2, "", line]);
});
