// The size guard: source files stop at 300 lines (tests at 400), functions at 60. Aims are half of that.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root } from "./install.mjs";

const LIMITS = [
  { folder: "src", fileLines: 300, functionLines: 60 },
  { folder: "test", fileLines: 400, functionLines: Number.POSITIVE_INFINITY },
  { folder: "bench", fileLines: 300, functionLines: 60 },
];

function typescriptFiles(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.includes("node_modules"));
}

/** Lines of complaint; empty = all within limits. */
export async function checkSizes() {
  const { default: ts } = await import("typescript");
  const complaints = [];
  for (const { folder, fileLines, functionLines } of LIMITS) {
    for (const file of typescriptFiles(folder)) {
      const text = readFileSync(file, "utf8");
      const lines = text.split("\n").length - 1;
      if (lines > fileLines) complaints.push(`${relative(root, file)}: ${lines} lines (limit ${fileLines})`);
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
      const visit = (node) => {
        if (ts.isFunctionLike(node) && node.body) {
          const first = source.getLineAndCharacterOfPosition(node.getStart()).line;
          const length = source.getLineAndCharacterOfPosition(node.end).line - first + 1;
          if (length > functionLines)
            complaints.push(
              `${relative(root, file)}:${first + 1}: function of ${length} lines (limit ${functionLines})`,
            );
        }
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
  }
  return complaints;
}
