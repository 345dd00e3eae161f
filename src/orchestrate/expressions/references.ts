// What an expression refers to, and whether it is bounded: read from its tree before it ever runs.

import type { ASTNode } from "@marcbachmann/cel-js";
import { NAME_PREFIX } from "./rewrite.ts";

/** `t3.result.x` → head `t3`, path `["result", "x"]`. `at` is a position in the rewritten text. */
export interface TreeReference {
  head: string;
  isName: boolean;
  path: (string | number)[];
  at: number;
  /** Its absence has an answer: left of `??`, or inside `has()`. */
  isGuarded: boolean;
}

export interface TreeIssue {
  what: string;
  hint: string;
  at: number;
}

const LOOPS = new Set(["all", "exists", "exists_one", "map", "filter"]);
/** Names that CEL itself knows. */
const TYPES = new Set(
  "int uint double bool string bytes list map type null_type timestamp duration google optional cel".split(
    " ",
  ),
);

interface Surroundings {
  bound: ReadonlySet<string>;
  isGuarded: boolean;
  loops: number;
}

/** Every reference and every thing that could run without bound. */
export function readTree(root: ASTNode): { references: TreeReference[]; issues: TreeIssue[] } {
  const references: TreeReference[] = [];
  const issues: TreeIssue[] = [];
  const visitAll = (nodes: readonly unknown[], around: Surroundings) => {
    for (const node of nodes) {
      if (Array.isArray(node)) visitAll(node, around);
      else if (isNode(node)) visit(node, around);
    }
  };
  const visit = (node: ASTNode, around: Surroundings): void => {
    const chain = chainOf(node);
    if (chain) {
      if (!around.bound.has(chain.head) && !TYPES.has(chain.head))
        references.push({
          ...named(chain.head),
          path: chain.path,
          at: chain.at,
          isGuarded: around.isGuarded,
        });
      return;
    }
    if (node.op === "rcall") visitMethod(node, around);
    else if (node.op === "call") visitCall(node, around);
    else visitAll(Array.isArray(node.args) ? node.args : [node.args], around);
  };
  const visitCall = (node: ASTNode & { op: "call" }, around: Surroundings) => {
    const [name, args] = node.args;
    const [first, ...rest] = args;
    if (name === "orElse" || name === "has") visitAll([first], { ...around, isGuarded: true });
    else visitAll([first], around);
    visitAll(rest, around);
  };
  const visitMethod = (node: ASTNode & { op: "rcall" }, around: Surroundings) => {
    const [name, receiver, args] = node.args;
    if (name === "matches") issues.push(...patternIssues(node, args[0]));
    visit(receiver, around);
    const [variable, ...rest] = args;
    const binds = name === "bind" || (LOOPS.has(name) && args.length > 1);
    if (!binds || variable?.op !== "id") return visitAll(args, around);
    const loops = around.loops + (name === "bind" ? 0 : 1);
    if (loops > 1)
      issues.push({
        what: "one list is walked inside another",
        hint: "make the inner list a task's result, so that the work is bounded",
        at: node.start,
      });
    visitAll(rest, { ...around, loops, bound: new Set([...around.bound, variable.args]) });
  };
  visit(root, { bound: new Set(), isGuarded: false, loops: 0 });
  return { references, issues };
}

function named(head: string): { head: string; isName: boolean } {
  const isName = head.startsWith(NAME_PREFIX);
  return { head: isName ? head.slice(NAME_PREFIX.length) : head, isName };
}

/** A name with constant fields and indexes behind it; undefined for anything else. */
function chainOf(node: ASTNode): { head: string; path: (string | number)[]; at: number } | undefined {
  if (node.op === "id") return { head: node.args, path: [], at: node.start };
  if (node.op === ".") {
    const chain = chainOf(node.args[0]);
    return chain && { ...chain, path: [...chain.path, node.args[1]] };
  }
  if (node.op !== "[]") return undefined;
  const chain = chainOf(node.args[0]);
  const index = node.args[1].op === "value" ? node.args[1].args : undefined;
  if (!chain || (typeof index !== "string" && typeof index !== "bigint")) return undefined;
  return { ...chain, path: [...chain.path, typeof index === "bigint" ? Number(index) : index] };
}

/** A repeated group that can match one text in several ways takes exponential time in JavaScript's matcher. */
const RISKY = /\((?:[^()\\]|\\.)*(?:[*+|]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)\s*(?:[*+]|\{\d+,\d*\})|\\[1-9]/;

function patternIssues(node: ASTNode, pattern: ASTNode | undefined): TreeIssue[] {
  const at = pattern?.start ?? node.start;
  if (pattern?.op !== "value" || typeof pattern.args !== "string")
    return [
      { what: "the pattern of matches() is not written out", hint: "write it as a text in quotes", at },
    ];
  if (!RISKY.test(pattern.args)) return [];
  return [
    {
      what: "this pattern could take for ever",
      hint: "do not repeat a group that holds a repetition or a choice, nor use back references",
      at,
    },
  ];
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === "object" && value !== null && "op" in value;
}
