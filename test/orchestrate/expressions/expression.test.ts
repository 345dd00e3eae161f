import { describe, expect, test } from "vitest";
import type { Compiler } from "../../../src/orchestrate/expressions/expression.ts";
import { loadCompiler } from "../../../src/orchestrate/expressions/load.ts";

const compiler: Compiler = await loadCompiler();
const heads = new Set(["t1", "list", "loop", "params", "uuid"]);
const scope = {
  t1: { status: "succeeded", result: { size: 3, share: 0.5, name: "a.jpg", none: null, files: ["x", "y"] } },
  list: { result: { files: [1, 2] } },
  loop: { status: "failed" },
  params: { index: 1, limit: 2 },
  uuid: "u-1",
};

function evaluate(source: string) {
  const compiled = compiler.compile(source, (name) => heads.has(name));
  if (!compiled.ok) throw new Error(`${compiled.issue.what} at ${compiled.issue.at}`);
  return compiled.expression.evaluate(scope);
}

const issueOf = (source: string) => {
  const compiled = compiler.compile(source, (name) => heads.has(name));
  return compiled.ok ? undefined : compiled.issue;
};

describe("an expression", () => {
  test.each<[string, unknown]>([
    ["t1.status == 'succeeded' && t1.result.size > 0", true],
    ["t1.result.size + 1", 4],
    ["t1.result.size / 2", 1.5],
    ["t1.result.share * 4", 2],
    ["params.limit - 1 == params.index", true],
    ["t1.result.files[params.index]", "y"],
    ["len(t1.result.files)", 2],
    ["t1.result.name.matches('.*\\\\.jpg$')", true],
    ["json(t1.result.files)", '["x","y"]'],
    ["{'a': [1, t1.result.size]}", { a: [1, 3] }],
    ["t1.result.files.filter(f, f != 'x')", ["y"]],
  ])("W1: %s is %j", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });

  test.each<[string, unknown]>([
    ["t1.result.gone ?? 'none'", "none"],
    ["t1.result.none.deep ?? 1", 1],
    ["t1.result.none ?? t1.result.gone ?? 'last'", "last"],
    ["t1.result.files[9] ?? 'no ?? here'", "no ?? here"],
    ["(t1.result.gone ?? 2) + 1", 3],
    ["t1.result.gone ?? 0 > 5", false],
    ["t1.result.gone ?? true ? 'yes' : 'no'", "yes"],
    ["[t1.result.gone ?? 1, t1.result.size ?? 2]", [1, 3]],
  ])("W1: `??` answers what is absent: %s is %j", (source, value) => {
    expect(evaluate(source)).toEqual({ ok: true, value });
  });

  test("`??` does not hide other errors", () => {
    expect(evaluate("1 / 0 ?? 5")).toMatchObject({ ok: false, code: "evaluation" });
  });

  test("an absent path is an error that says so, with names as they were written", () => {
    expect(evaluate("t1.result.gone")).toEqual({ ok: false, code: "missing", message: "No such key: gone" });
    expect(evaluate("t1.result.name + 1")).toMatchObject({ ok: false, code: "evaluation" });
  });

  test("inherited properties of JavaScript are not there", () => {
    for (const name of ["constructor", "__proto__", "toString"])
      expect(evaluate(`t1.${name}`)).toMatchObject({ ok: false, code: "missing" });
  });

  test("a task may be called as CEL calls something else", () => {
    expect(evaluate("list.result.files")).toEqual({ ok: true, value: [1, 2] });
    expect(evaluate("loop.status")).toEqual({ ok: true, value: "failed" });
    expect(evaluate("type(1) == int")).toEqual({ ok: true, value: true });
  });

  test("references are known before a run, with their places", () => {
    const compiled = compiler.compile("t1.result.files[0] ?? nobody.x == uuid", (name) => heads.has(name));

    expect(compiled.ok && compiled.expression.references).toEqual([
      { head: "t1", path: ["result", "files", 0], at: 0, isGuarded: true },
      { head: "nobody", path: ["x"], at: 22, isGuarded: false },
      { head: "uuid", path: [], at: 34, isGuarded: false },
    ]);
  });

  test("a mistake is placed in what was written, not in what CEL was given", () => {
    expect(issueOf("t1.x ?? list.y +")).toMatchObject({ at: 16 });
    expect(issueOf("")?.what).toBe("the expression is empty");
  });

  test.each([
    ["t1.result.files.map(a, t1.result.files.map(b, a + b))", "walked inside another"],
    ["t1.result.name.matches('(a+)+$')", "take for ever"],
    ["t1.result.name.matches('(a|aa)*$')", "take for ever"],
    ["t1.result.name.matches(params.pattern)", "not written out"],
    [Array(600).fill("1").join(" + "), "not an expression"],
    ["x".repeat(5_000), "too long"],
  ])("is refused when it could run without bound: %#", (source, what) => {
    expect(issueOf(source)?.what).toContain(what);
  });
});
