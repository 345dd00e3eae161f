// Which files a watch means: one folder, and names in it. Pure.

import { basename, dirname } from "node:path";

export interface FilePattern {
  folder: string;
  /** Names that begin with a dot are meant only by a pattern that begins with one: half-written copies often have one. */
  accepts(name: string): boolean;
}

/** Of a pattern that `isFilePattern` takes; `~/` is the person's home. */
export function readFilePattern(pattern: string, home: string): FilePattern {
  const path = pattern.startsWith("~/") ? `${home.replace(/\/$/, "")}${pattern.slice(1)}` : pattern;
  const isFolder = path.endsWith("/");
  const name = isFolder ? "*" : basename(path);
  const expression = new RegExp(
    `^${[...name].map((sign) => WILD[sign] ?? sign.replace(/[\\^$.|+()[\]{}]/g, "\\$&")).join("")}$`,
    "u",
  );
  return {
    folder: isFolder ? path.replace(/\/+$/, "") : dirname(path),
    accepts: (given) => (name.startsWith(".") || !given.startsWith(".")) && expression.test(given),
  };
}

const WILD: Readonly<Record<string, string>> = { "*": ".*", "?": "." };
