// The titles of all tests, read from the syntax tree of their files; none of them is run.
//
// I1. A title is the first argument of `test(…)`, `it(…)` or `describe(…)`, whatever stands between (`.each(…)`, `.skipIf(…)`),
//     and every text in the table of an `.each` or `.for`, since tables hold titles too.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const ROOTS = ["test", "it", "describe"];

/** Titles below `folder`, from test files and from the contract suites that they run. */
export function testTitles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((file) => !file.includes("node_modules"))
    .flatMap(titlesOf);
}

function titlesOf(file: string): string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ROOTS.includes(rootOf(node.expression))) titles.push(...textsOf(node));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest));
  return titles;
}

/** `test` of `test.skipIf(x).each(rows)`. */
function rootOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  if (ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression))
    return rootOf(expression.expression);
  return "";
}

/** The title itself, or the texts of a table. */
function textsOf({ arguments: [first] }: ts.CallExpression): string[] {
  if (!first) return [];
  if (ts.isStringLiteralLike(first)) return [first.text];
  if (ts.isTemplateExpression(first))
    return [
      [first.head, ...first.templateSpans.map((span) => span.literal)].map(({ text }) => text).join("…"),
    ];
  if (!ts.isArrayLiteralExpression(first)) return [];
  return first.elements.flatMap((row) => {
    const cell = ts.isArrayLiteralExpression(row) ? row.elements[0] : row;
    return cell && ts.isStringLiteralLike(cell) ? [cell.text] : [];
  });
}

/** The rule ids that a title names: `T4`, `L2–L6` (all five), `D1, D3`. */
export function idsIn(title: string): string[] {
  const ranges = [...title.matchAll(/\b([A-Z])(\d{1,2})–(?:[A-Z])?(\d{1,2})\b/g)].flatMap(
    ([, letter, from, to]) =>
      Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${letter}${Number(from) + index}`),
  );
  return [...ranges, ...(title.match(/\b[A-Z]\d{1,2}\b/g) ?? [])];
}
