// AGENTS.md and CLAUDE.md of a workdir: what its people want agents to know (DESIGN §11; only with a workdir).
//
// I1. A file is read only where it lies, links followed, inside the workdir: a cloned folder cannot show others' files.

import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { headWithNote } from "../../kernel/bound-text.ts";

/** In the order they are shown. */
const NAMES = ["AGENTS.md", "CLAUDE.md"] as const;
/** Characters of each. */
export const MAX_CONTEXT_FILE = 20_000;

export interface ContextFile {
  name: string;
  text: string;
}

/** What there is, bounded, its head kept. Files that cannot be read, or say the same as another, are left out. */
export async function readContextFiles(workdir: string): Promise<ContextFile[]> {
  const files: ContextFile[] = [];
  for (const name of NAMES) {
    const text = await readInside(workdir, name);
    if (text === undefined || text.trim() === "" || files.some((file) => file.text === text)) continue;
    files.push({ name, text });
  }
  return files;
}

async function readInside(workdir: string, name: string): Promise<string | undefined> {
  try {
    const folder = await realpath(workdir);
    const path = await realpath(join(folder, name));
    if (!path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)) return undefined;
    return await readHead(path);
  } catch {
    return undefined;
  }
}

async function readHead(path: string): Promise<string | undefined> {
  const file = await open(path);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    // A character has at most four bytes; one more character than is kept tells that something is missing.
    const buffer = Buffer.alloc(Math.min(stats.size, 4 * (MAX_CONTEXT_FILE + 1)));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const text = new TextDecoder("utf-8").decode(buffer.subarray(0, bytesRead)).replaceAll("\0", "\uFFFD");
    return headWithNote(text, MAX_CONTEXT_FILE);
  } finally {
    await file.close();
  }
}
