// Where the socket of a connection lies: in the run's folder, or, where that is too long for a socket's path, in /tmp.
//
// I1. What lies in /tmp says in its name whose it is, and goes once its owner is provably gone.

import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { areOrphansWords, ownerWords } from "./owner.ts";

/** A socket's path may have 104 bytes, and ssh appends 17 to it while binding. */
const LONGEST_SOCKET = 80;
const SHORT = "nightshift-ssh-";

/** Makes the folder (0700) for the socket `m` of an environment. */
export async function openSocketFolder(
  tempFolder: string,
  environmentId: string,
  tmp = "/tmp",
): Promise<string> {
  const tail = environmentId.slice(-8);
  const wished = join(tempFolder, `ssh-${tail}`);
  const folder = wished.length + 2 <= LONGEST_SOCKET ? wished : join(tmp, `${SHORT}${ownerWords()}.${tail}`);
  await mkdir(folder, { mode: 0o700, recursive: folder === wished });
  return folder;
}

/** Removes what dead processes left in /tmp; returns its paths. What is not ours to remove stays. Never throws. */
export async function reapSocketFolders(tmp = "/tmp"): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(tmp).catch(() => [])) {
    if (!name.startsWith(SHORT) || !areOrphansWords(name.slice(SHORT.length))) continue;
    const path = join(tmp, name);
    const isGone = await rm(path, { recursive: true, force: true }).then(
      () => true,
      () => false,
    );
    if (isGone) removed.push(path);
  }
  return removed;
}
