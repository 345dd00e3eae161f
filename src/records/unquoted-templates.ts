// W2: `{t3.result}` and `{{ params.x }}` without quotes are maps to YAML. Whoever wrote them meant a template.
//
// I1. Only a key without any value is taken for one, in braces: `{a: null}` and `{a: }` are a person's data.

import { isMap, isScalar, isSeq } from "yaml";
import type { DocumentIssue } from "./document-issues.ts";
import type { ValuePath, YamlText } from "./yaml-text.ts";

/** `head`, `head.path[0]`, perhaps with a default. */
const TEMPLATE = /^\s*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z_0-9]+|\[\d+\])*)(?:\s*\?\?.*)?\s*$/;

/** One issue for each unquoted template. A bare `{name}` counts only where `isKnownHead` knows the name. */
export function unquotedTemplates(
  yaml: Pick<YamlText, "document">,
  isKnownHead: (head: string) => boolean,
): DocumentIssue[] {
  const issues: DocumentIssue[] = [];
  const visit = (node: unknown, path: ValuePath): void => {
    const found = templateOf(node, isKnownHead);
    if (found !== undefined) issues.push(issueOf(path, found));
    else if (isSeq(node)) node.items.forEach((item, index) => void visit(item, [...path, index]));
    else if (isMap(node))
      for (const pair of node.items)
        visit(pair.value, [...path, isScalar(pair.key) ? String(pair.key.value) : ""]);
  };
  visit(yaml.document.contents, []);
  return issues;
}

function templateOf(node: unknown, isKnownHead: (head: string) => boolean): string | undefined {
  const key = loneKey(node);
  if (key === undefined) return undefined;
  if (isScalar(key)) {
    const match = typeof key.value === "string" ? TEMPLATE.exec(key.value) : null;
    if (!match) return undefined;
    return match[2] || isKnownHead(match[1] ?? "") ? `{${String(key.value)}}` : undefined;
  }
  const inner = loneKey(key);
  return isScalar(inner) ? `{{ ${String(inner.value)} }}` : undefined;
}

/** The key of a flow map that holds this key and nothing else, not even a colon. */
function loneKey(node: unknown): unknown {
  if (!isMap(node) || node.flow !== true || node.items.length !== 1) return undefined;
  const pair = node.items[0];
  return pair?.value === null ? pair.key : undefined;
}

function issueOf(path: ValuePath, template: string): DocumentIssue {
  return {
    path,
    of: "value",
    what: "YAML reads this template as a map",
    hint: `quote the template: "${template}"`,
  };
}
