// Files of a sandbox through the service's own way for files: whole, and in bytes. What may be read or written, and how a
// file appears, is judged inside (inside-files.ts), as everywhere.

import type { CloudSandbox } from "./cloud-sandbox.ts";
import { DEFAULT_READ_BYTES, fileFault, LOOK, MOVE, refuseBadPath } from "./inside-files.ts";
import type { EnvironmentDeps, PlaceFiles } from "./place.ts";

interface CloudFiles {
  deps: EnvironmentDeps;
  label: string;
  stateFolder: string;
  sandbox: CloudSandbox;
}

/** Throws `environment.file-missing`, `environment.file-refused`; the SDK's errors. */
export function cloudFiles({ deps, label, stateFolder, sandbox }: CloudFiles): PlaceFiles {
  return {
    async read(path, { signal, maxBytes = DEFAULT_READ_BYTES }) {
      signal.throwIfAborted();
      refuseBadPath(path);
      const looked = await sandbox.run(["sh", "-c", LOOK, "sh", path, String(maxBytes)]);
      signal.throwIfAborted();
      if (looked.exitCode !== 0)
        throw fileFault(label, {
          path,
          exitCode: looked.exitCode,
          said: looked.text,
          what: "read",
          maxBytes,
        });
      // By a plain name: not every way there knows all letters.
      const link = `${stateFolder}/read.${deps.newId()}`;
      await sandbox.run(["ln", "-s", "--", path, link]);
      try {
        return (await sandbox.read?.(link)) ?? new Uint8Array();
      } finally {
        await sandbox.run(["rm", "-f", "--", link]).catch(() => {});
      }
    },
    async write(path, data, { signal, mode }) {
      signal.throwIfAborted();
      refuseBadPath(path);
      const name = deps.newId();
      const from = `${stateFolder}/new.${name}`;
      await sandbox.write(from, data);
      const bits = mode === undefined ? "" : (mode & 0o7777).toString(8);
      const args = [path, bits, `nightshift-${name}`, String(data.length), from];
      const moved = await sandbox.run(["sh", "-c", MOVE, "sh", ...args]);
      if (moved.exitCode === 0) return;
      await sandbox.run(["rm", "-f", "--", from]);
      throw fileFault(label, {
        path,
        exitCode: moved.exitCode,
        said: moved.text,
        what: "written",
        maxBytes: 0,
      });
    },
  };
}
