// A real home in a temp folder, opened as every surface opens it.

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { type OpenOptions, openContext } from "../../src/app/open-context.ts";
import { tempFolder } from "./temp.ts";

/** PATH, HOME and nothing else: what a bare machine gives. */
export const BARE_ENV = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: "UTC" };

/** Opens a fresh home (or `path` again); closed when the test has finished. */
export async function testContext(options: Partial<OpenOptions> = {}): Promise<Context> {
  const path = options.path ?? join(await tempFolder(), "home");
  const context = await openContext({
    path,
    storeUrl: undefined,
    actor: "test",
    isDebug: false,
    env: BARE_ENV,
    version: "0.0.0-test",
    ...options,
  });
  onTestFinished(() => context.close());
  return context;
}

/** Writes an executable script into the home's scripts folder. */
export async function writeScript(context: Context, name: string, text: string): Promise<void> {
  const folder = context.home.paths.scriptsFolder;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), text);
  await chmod(join(folder, name), 0o700);
}
