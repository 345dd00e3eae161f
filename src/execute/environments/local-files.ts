// Files of this machine for the local backend, without a shell.
//
// I1. Written beside the name and renamed over it: whole or not at all. A link's target is replaced, not the link; the
//     mode of a file that exists is kept unless another is asked for.

import { constants } from "node:fs";
import { chmod, mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Fault, messageOf } from "../../kernel/errors.ts";
import { DEFAULT_READ_BYTES } from "./inside-files.ts";
import type { PlaceFiles } from "./place.ts";

/** `newId` names the temporary file. */
export function localFiles(newId: () => string): PlaceFiles {
  return {
    async read(path, { signal, maxBytes = DEFAULT_READ_BYTES }) {
      refuseNul(path);
      try {
        return await readWhole(path, maxBytes, signal);
      } catch (error) {
        throw fileFault(path, error, "read");
      }
    },
    async write(path, data, { signal, mode }) {
      refuseNul(path);
      try {
        await writeWhole(path, data, { signal, mode, suffix: `nightshift-${newId()}` });
      } catch (error) {
        throw fileFault(path, error, "written");
      }
    },
  };
}

async function readWhole(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  signal.throwIfAborted();
  // Not blocking: a named pipe without a writer would hold the open for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw refused(`${path} is no plain file`, "Name a file, not a folder or a device.");
    if (found.size > maxBytes)
      throw refused(
        `${path} is larger than ${maxBytes} bytes`,
        "Read a part of it with a command such as head or tail.",
      );
    return await file.readFile({ signal });
  } finally {
    await file.close();
  }
}

interface WriteWhole {
  signal: AbortSignal;
  mode: number | undefined;
  suffix: string;
}

async function writeWhole(path: string, data: Uint8Array, write: WriteWhole): Promise<void> {
  write.signal.throwIfAborted();
  const target = await realpath(path).catch(() => path);
  const found = await stat(target).catch(() => undefined);
  if (found && !found.isFile())
    throw refused(`${path} is no plain file`, "Name a file, not a folder or a device.");
  await mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.${write.suffix}`;
  try {
    await writeFile(temporary, data, { mode: 0o600, flag: "wx", signal: write.signal });
    await chmod(temporary, write.mode ?? (found ? found.mode & 0o7777 : 0o644));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function refuseNul(path: string): void {
  if (path === "" || path.includes("\0"))
    throw refused("a path is empty or holds a NUL byte", "Give the path of a file.");
}

const refused = (message: string, hint: string) => new Fault("environment.file-refused", message, { hint });

/** An abort's own reason passes through untouched. */
function fileFault(path: string, error: unknown, what: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (error instanceof Fault || code === undefined || code === "ABORT_ERR") return error;
  if (code === "ENOENT" && what === "read")
    return new Fault("environment.file-missing", `${path} does not exist`, {
      hint: "Look at the folder first.",
      cause: error,
    });
  return new Fault("environment.file-refused", `${path} cannot be ${what}: ${messageOf(error)}`, {
    hint: "Look at its permissions and at the space left.",
    cause: error,
  });
}
