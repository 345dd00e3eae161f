// Temporary folders that are gone when the test is.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A fresh folder, removed when the current test has finished. */
export async function tempFolder(name = "nightshift-test"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${name}-${process.pid}-`));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
