// Files in jobs/ that no job runs from: unreadable ones, and every one where the store keeps jobs in a table (L12).

import { homePaths } from "../store/files/home.ts";
import { openJobFiles } from "../store/files/job-files.ts";
import type { Context } from "./context.ts";
import { heldFiles } from "./definition-sync.ts";

export interface UnusedFile {
  source: string;
  why: string;
}

export async function unusedFiles(context: Context): Promise<UnusedFile[]> {
  const isTable = context.ledger.engine === "postgres";
  const files = isTable ? openJobFiles(homePaths(context.home.paths.root), context) : context.source;
  const { isReadable, entries, unreadable } = await files.list();
  const broken = isTable
    ? unreadable.map(({ source, error }) => ({ source, why: error }))
    : (await heldFiles(context)).map(({ source, why }) => ({ source, why }));
  if (!isReadable) return [{ source: "jobs/", why: "the folder cannot be read" }, ...broken];
  if (!isTable) return broken;
  const why = "jobs live in the database here; move it there with `nightshift job apply -f`";
  return [...broken, ...entries.map(({ source }) => ({ source, why }))];
}
