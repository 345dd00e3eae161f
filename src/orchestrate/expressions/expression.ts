// The one expression language, in `when` and in templates: CEL with `??` (W1). Parsed once, with positions; evaluation is
// pure, synchronous and bounded.
//
// This file is the one door to CEL's package: it is reached by `import()` only (load.ts), and the build makes a file of its
// own from it, so that nothing else pays for it (scripts/build.mjs).
//
// I1. Bounded: sizes are limited when an expression is compiled, one list is never walked inside another (references.ts).
// I2. A number is a number: CEL's int and double mix, as they do in JSON.
// I3. An absent path is an answer for `??` and `has()`, and an error everywhere else.

import {
  type ASTNode,
  TypeError as CelTypeError,
  Environment,
  EvaluationError,
  ParseError,
} from "@marcbachmann/cel-js";
import { readTree } from "./references.ts";
import { NAME_PREFIX, rewriteForCel } from "./rewrite.ts";

/** Values by head: `params`, `run`, task ids, … */
export type Scope = Readonly<Record<string, unknown>>;

/** `t3.result.x` in a source; `at` counts characters from 0. */
export interface Reference {
  head: string;
  path: readonly (string | number)[];
  at: number;
  isGuarded: boolean;
}

export interface ExpressionIssue {
  what: string;
  hint: string;
  at: number;
}

export type Evaluated =
  | { ok: true; value: unknown }
  /** `missing`: a path is absent. `evaluation`: types do not fit, a division by zero, … */
  | { ok: false; code: "missing" | "evaluation"; message: string };

export interface Expression {
  source: string;
  references: readonly Reference[];
  evaluate(scope: Scope): Evaluated;
}

export type Compiled = { ok: true; expression: Expression } | { ok: false; issue: ExpressionIssue };

export interface Compiler {
  /** `isHead` says which bare names the scope will hold. Never throws for any text. */
  compile(source: string, isHead: (name: string) => boolean): Compiled;
}

/** @source DESIGN §12, peers.md §5.3 "bounded cost": a person's condition is far below. */
const LIMITS = {
  maxAstNodes: 400,
  maxDepth: 40,
  maxListElements: 200,
  maxMapEntries: 100,
  maxCallArguments: 16,
};
const MOST_CHARACTERS = 4_000;
const ABSENT = new Set(["no_such_key", "index_out_of_bounds"]);

/** A compiler with CEL loaded. Make one and pass it on: an environment costs about a millisecond. */
export function makeCompiler(): Compiler {
  const environment = openEnvironment();
  return {
    compile(source, isHead) {
      if (source.trim() === "")
        return refused("the expression is empty", "write one, such as params.x > 3", 0);
      if (source.length > MOST_CHARACTERS)
        return refused("the expression is too long", `write at most ${MOST_CHARACTERS} characters`, 0);
      const rewritten = rewriteForCel(source, isHead);
      try {
        const run = environment.parse(rewritten.text);
        return finish({ source, ast: run.ast, run }, rewritten.sourceAt, isHead);
      } catch (error) {
        if (!(error instanceof ParseError)) throw error;
        const at = rewritten.sourceAt(error.range?.start ?? 0);
        return refused(
          `not an expression (${uncapitalised(summaryOf(error))})`,
          "write it in CEL, for example params.x > 3",
          at,
        );
      }
    },
  };
}

interface Parsed {
  source: string;
  ast: ASTNode;
  run: (scope: Record<string, unknown>) => unknown;
}

function finish(
  { source, ast, run }: Parsed,
  sourceAt: (position: number) => number,
  isHead: (name: string) => boolean,
): Compiled {
  const { references, issues } = readTree(ast);
  const issue = issues[0];
  if (issue) return refused(issue.what, issue.hint, sourceAt(issue.at));
  return {
    ok: true,
    expression: {
      source,
      references: references.map(({ head, path, at, isGuarded }) => ({
        head,
        path,
        at: sourceAt(at),
        isGuarded,
      })),
      evaluate: (scope) => evaluate(run, scope, isHead),
    },
  };
}

function evaluate(run: Parsed["run"], scope: Scope, isHead: (name: string) => boolean): Evaluated {
  const named = Object.fromEntries(
    Object.entries(scope).flatMap(([name, value]) => (isHead(name) ? [[NAME_PREFIX + name, value]] : [])),
  );
  try {
    return { ok: true, value: plain(run(named)) };
  } catch (error) {
    if (error instanceof EvaluationError || error instanceof CelTypeError) {
      const isMissing = error.code !== undefined && ABSENT.has(error.code);
      return { ok: false, code: isMissing ? "missing" : "evaluation", message: summaryOf(error) };
    }
    if (error instanceof UnrepresentableError)
      return { ok: false, code: "evaluation", message: error.message };
    throw error;
  }
}

function refused(what: string, hint: string, at: number): Compiled {
  return { ok: false, issue: { what, hint, at } };
}

/** The first line, without the source that follows it, and with names as people wrote them. */
function summaryOf(error: Error & { summary?: string }): string {
  return (error.summary ?? error.message.split("\n")[0] ?? "").replaceAll(NAME_PREFIX, "");
}

function uncapitalised(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

class UnrepresentableError extends Error {}

/** A value of CEL as JSON knows it: big integers as numbers, instants as texts. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new UnrepresentableError(`${value} is too large for a number`);
  }
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && !Number.isFinite(value))
    throw new UnrepresentableError(`${value} is no number that JSON knows`);
  if (typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  const entries = value instanceof Map ? [...value.entries()] : Object.entries(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!(value instanceof Map) && prototype !== Object.prototype && prototype !== null) return String(value);
  return Object.fromEntries(entries.map(([key, member]) => [String(key), plain(member)]));
}

function openEnvironment(): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: true,
    homogeneousAggregateLiterals: false,
    limits: LIMITS,
  });
  mixNumbers(environment);
  environment.registerFunction("len(dyn): int", (value: unknown) => BigInt(lengthOf(value)));
  environment.registerFunction("json(dyn): string", (value: unknown) => JSON.stringify(plain(value)));
  environment.registerFunction("orElse(ast, ast): dyn", orElse);
  return environment;
}

/** I2. */
function mixNumbers(environment: Environment): void {
  const operations: Record<string, (left: number, right: number) => number> = {
    "+": (left, right) => left + right,
    "-": (left, right) => left - right,
    "*": (left, right) => left * right,
    "/": (left, right) => left / right,
    "%": (left, right) => left % right,
  };
  const calculate = (operator: string) => (left: number | bigint, right: number | bigint) =>
    operations[operator]?.(Number(left), Number(right));
  for (const operator of Object.keys(operations)) {
    environment.registerOperator(`int ${operator} double`, calculate(operator));
    environment.registerOperator(`double ${operator} int`, calculate(operator));
  }
  environment.registerOperator("double % double", calculate("%"));
}

function lengthOf(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}

interface Macro {
  first: ASTNode;
  second: ASTNode;
}
interface Walker {
  check(node: ASTNode, context: unknown): unknown;
  getType(name: string): unknown;
  run(node: ASTNode, context: unknown): unknown;
}

/** `a ?? b`: `b` where `a` is null or a path in it is absent; any other error of `a` stays one. */
function orElse({ args }: { args: ASTNode[] }) {
  return {
    first: args[0],
    second: args[1],
    typeCheck(checker: Walker, macro: Macro, context: unknown) {
      checker.check(macro.first, context);
      checker.check(macro.second, context);
      return checker.getType("dyn");
    },
    evaluate(evaluator: Walker, macro: Macro, context: unknown) {
      try {
        const value = evaluator.run(macro.first, context);
        if (value !== null && value !== undefined) return value;
      } catch (error) {
        if (!(error instanceof EvaluationError) || !ABSENT.has(error.code)) throw error;
      }
      return evaluator.run(macro.second, context);
    },
  };
}
