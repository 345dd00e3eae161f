// How our own YAML looks: short lists and maps of plain values in one line, everything else in blocks of two spaces.

import { Document, isCollection, isPair, isScalar, isSeq, Scalar, stringify } from "yaml";

/** Longest value that is kept in one line. */
const INLINE_LENGTH = 72;
const OPTIONS = { lineWidth: 0 } as const;

/** The lines of `key: value`, without indentation of their own. */
export function keyText(key: string, value: unknown): string[] {
  if (!isBlockValue(value, undefined))
    return `${stringify(key, OPTIONS).trimEnd()}: ${inlineText(value, undefined)}`.split("\n");
  return [
    `${stringify(key, OPTIONS).trimEnd()}:`,
    ...blockLines(value).map((line) => (line === "" ? "" : `  ${line}`)),
  ];
}

/** Whether the value is written below its key. A list keeps the form (block or flow) of the one it replaces. */
export function isBlockValue(value: unknown, replaced: unknown): boolean {
  if (typeof value !== "object" || value === null || isEmpty(value)) return false;
  if (isCollection(replaced) && isSeq(replaced) === Array.isArray(value)) return replaced.flow !== true;
  return !isShort(value);
}

/** The lines of a list or map in block form. */
export function blockLines(value: unknown): string[] {
  return documentText(value, false).split("\n");
}

/** The value after `key: `; a text of several lines becomes a block scalar whose lines carry two spaces. */
export function inlineText(value: unknown, replaced: unknown): string {
  if (typeof value === "object" && value !== null) return documentText(value, true);
  if (isBlockText(value))
    return stringify({ k: value }, { ...OPTIONS, blockQuote: "literal" })
      .slice(3)
      .replace(/\n$/, "");
  const scalar = new Scalar(value);
  if (typeof value === "string" && value.includes("\n")) scalar.type = Scalar.QUOTE_DOUBLE;
  else if (typeof value === "string" && isScalar(replaced) && String(replaced.type).startsWith("QUOTE"))
    scalar.type = replaced.type as Scalar.Type;
  return stringify(scalar, OPTIONS).replace(/\n$/, "");
}

/** A block scalar is right for lines of text; one that ends in blank lines would swallow those that follow it. */
function isBlockText(value: unknown): value is string {
  return typeof value === "string" && /^\S.*\n[\s\S]*\S\n?$/.test(value) && !/\r/.test(value);
}

function documentText(value: unknown, flow: boolean): string {
  const document = new Document(value);
  markForms(document.contents, flow);
  return document.toString({ ...OPTIONS, flowCollectionPadding: false }).replace(/\n$/, "");
}

function markForms(node: unknown, flow: boolean): void {
  if (isScalar(node) && typeof node.value === "string" && node.value.includes("\n"))
    node.type = isBlockText(node.value) && !flow ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE;
  if (!isCollection(node)) return;
  if (flow) node.flow = true;
  for (const item of node.items as unknown[]) {
    const child = isPair(item) ? item.value : item;
    markForms(child, flow || (isCollection(child) && isShort(child.toJSON())));
  }
}

/** A list or map of plain values that fits in a line. */
function isShort(value: object): boolean {
  const members: unknown[] = Object.values(value);
  const isPlain = members.every(
    (member) =>
      (typeof member !== "object" || member === null) &&
      !(typeof member === "string" && member.includes("\n")),
  );
  return isPlain && JSON.stringify(value).length <= INLINE_LENGTH;
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
