// A file appears whole or not at all: temp file in the same folder, fsync, rename, fsync of the folder.
//
// I1. A reader sees the old bytes or the new ones, never a part of either; a crash leaves at most a dotfile.

import { type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, messageOf } from "../../kernel/errors.ts";

let writes = 0;

/**
 * Writes durably; `mode` is set whatever the umask (default 0600). An existing file is replaced.
 * @throws Fault `store.full` when the disk is, `home.unusable` when the place cannot be written.
 */
export async function writeFileAtomic(path: string, bytes: string | Uint8Array, mode = 0o600): Promise<void> {
  const temp = await writeTemp(path, bytes, mode);
  await publish(path, temp, () => rename(temp, path));
}

/** As `writeFileAtomic`, but never replaces: false when the file exists already. */
export async function createFileAtomic(
  path: string,
  bytes: string | Uint8Array,
  mode = 0o600,
): Promise<boolean> {
  const temp = await writeTemp(path, bytes, mode);
  try {
    // `link` refuses an existing name, which `rename` would replace.
    await publish(path, temp, () => link(temp, path));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await unlink(temp).catch(() => {});
  }
}

/** Makes a rename, link or removal inside `folder` survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The system's word for what went wrong, e.g. `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

async function writeTemp(path: string, bytes: string | Uint8Array, mode: number): Promise<string> {
  const temp = join(dirname(path), `.${basename(path)}.${process.pid}-${++writes}.tmp`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temp, "w", mode);
    await handle.chmod(mode);
    await handle.writeFile(bytes);
    await handle.sync();
    return temp;
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw writeFault(path, error);
  } finally {
    await handle?.close();
  }
}

async function publish(path: string, temp: string, step: () => Promise<void>): Promise<void> {
  try {
    await step();
    await syncFolder(dirname(path));
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw codeOf(error) === "EEXIST" ? error : writeFault(path, error);
  }
}

function writeFault(path: string, error: unknown): Fault {
  if (codeOf(error) === "ENOSPC" || codeOf(error) === "EDQUOT")
    return new Fault("store.full", `cannot write ${path}: no space is left`, {
      hint: "Free space on this disk; nothing was changed.",
      retry: "later",
      cause: error,
    });
  return new Fault("home.unusable", `cannot write ${path}: ${messageOf(error)}`, {
    hint: "Check that the folder exists and that this user may write there.",
    cause: error,
  });
}
