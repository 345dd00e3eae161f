// Which names in `jobs/` are job files, and how a file is named as a definition's source.

import { Fault } from "../../kernel/errors.ts";

const FOLDER = "jobs/";

/** `.yaml` and `.yml` count; dotfiles and the leavings of editors (`x.yaml~`, `.x.yaml.swp`, `#x.yaml#`) do not (D2). */
export function isJobFileName(name: string): boolean {
  return /^[^.#~].*\.ya?ml$/i.test(name);
}

/** `disk-watch.yaml` → `jobs/disk-watch.yaml`. */
export function jobFileSource(name: string): string {
  return `${FOLDER}${name}`;
}

/** Whether this source is a file of a home (and not a row of a table). */
export function isJobFileSource(source: string): boolean {
  return (
    source.startsWith(FOLDER) &&
    isJobFileName(source.slice(FOLDER.length)) &&
    !/[/\\\0]/.test(source.slice(FOLDER.length))
  );
}

/** The file's name. Throws Fault `input.refused` for a source that does not lie directly in `jobs/`. */
export function nameOfSource(source: string): string {
  if (isJobFileSource(source)) return source.slice(FOLDER.length);
  throw new Fault("input.refused", `${source} is no job file of this home`, {
    hint: "Job files lie directly in jobs/ and end in .yaml or .yml.",
  });
}
