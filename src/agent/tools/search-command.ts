// The shell command of a search. Pure. It uses what GNU, BusyBox and BSD have in common, and asks for what they have not.
//
// I1. Every value of the model's is quoted; none can be taken for an option.
// I2. It runs in a subshell: the session's directory and variables stay as they were.

import { posix } from "node:path";
import { quoteForShell } from "../../kernel/shell-quote.ts";

/** Not entered, unless the search starts inside. */
const SKIPPED = [".git", "node_modules"];
/** Of one search's output. The head is what counts here, so it is cut before the environment would keep the tail. */
export const MAX_SEARCH_BYTES = 1_000_000;
/** Exit code for a pattern that grep cannot read. */
export const BAD_PATTERN = 65;
/** Exit code for a path that does not exist. */
export const NO_PATH = 66;

export interface Search {
  /** Absolute. A file or a folder. */
  path: string;
  /** Of contents, a regular expression. Undefined = names only. */
  pattern: string | undefined;
  /** A glob over names, or over paths where it holds a slash. */
  name: string | undefined;
  isCaseSensitive: boolean;
  /** Absolute folders that are not entered. */
  skipFolders: readonly string[];
  maxLines: number;
}

/**
 * Its first line is `d` for a folder or `f` for a file. Then paths, with a leading `./`, relative to that folder, or to
 * the folder of that file.
 */
export function searchCommand(search: Search): string {
  const { path, pattern, maxLines } = search;
  const target = quoteForShell(path);
  const parent = quoteForShell(posix.dirname(path));
  const file = quoteForShell(`./${posix.basename(path)}`);
  const start = `if [ -d ${target} ]; then cd -- ${target} || exit 1; s=.; echo d; elif [ -e ${target} ]; then cd -- ${parent} || exit 1; s=${file}; echo f; else exit ${NO_PATH}; fi`;
  const find = `find "$s" ${findFilter(search)}`;
  const end = `2>/dev/null | head -n ${maxLines} | head -c ${MAX_SEARCH_BYTES}`;
  if (pattern === undefined) return `(${start}; ${find} -print ${end})`;
  const flags = search.isCaseSensitive ? "-nH" : "-nHi";
  // Perl's expressions are what models write; where grep has none, POSIX's with \d spelled out.
  const choose = `if grep -P x /dev/null 2>/dev/null; [ $? -lt 2 ]; then f=-P; p=${quoteForShell(pattern)}; else f=-E; p=${quoteForShell(pattern.replaceAll("\\d", "[0-9]"))}; fi`;
  // On a line, not on nothing: BusyBox reads a pattern when it has something to match.
  const check = `echo x | grep $f -e "$p" >/dev/null; [ $? -lt 2 ] || exit ${BAD_PATTERN}`;
  const binary = `b=; grep -I x /dev/null 2>/dev/null; [ $? -lt 2 ] && b=-I`;
  // Byte by byte, or a log in another encoding would count as binary; only a pattern beyond ASCII needs characters.
  const locale = /^[\x20-\x7e\t]*$/.test(pattern) ? "C" : "C.UTF-8";
  return `(${start}; ${choose}; ${check}; ${binary}; export LC_ALL=${locale}; ${find} -exec grep $f $b ${flags} -e "$p" -- {} + ${end})`;
}

function findFilter({ path, name, skipFolders }: Search): string {
  const skippedNames = SKIPPED.map((folder) => `-name ${folder}`);
  const skippedPaths = skipFolders
    .map((folder) => posix.relative(path, folder))
    .filter((relative) => relative !== "" && !relative.startsWith(".."))
    .map((relative) => `-path ${quoteForShell(`./${escapeGlob(relative)}`)}`);
  const prune = `-type d \\( ${[...skippedNames, ...skippedPaths].join(" -o ")} \\) -prune`;
  return `${prune} -o -type f${name === undefined ? "" : ` ${nameFilter(name)}`}`;
}

/** find's `*` matches a slash in paths, so that `**` needs no meaning of its own. */
function nameFilter(glob: string): string {
  if (!glob.includes("/")) return `-name ${quoteForShell(glob)}`;
  const path = glob.replace(/^\.?\//, "");
  const forms = [path.replaceAll("**", "*"), path.replaceAll("**/", "")];
  const tests = [...new Set(forms)].map((form) => `-path ${quoteForShell(`./${form}`)}`);
  return `\\( ${tests.join(" -o ")} \\)`;
}

function escapeGlob(text: string): string {
  return text.replace(/[*?[\]\\]/g, "\\$&");
}
