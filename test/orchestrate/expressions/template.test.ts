import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadCompiler } from "../../../src/orchestrate/expressions/load.ts";
import { compileValue, renderValue } from "../../../src/orchestrate/expressions/render-value.ts";
import { compileShell, renderShell } from "../../../src/orchestrate/expressions/shell-template.ts";
import {
  type Language,
  parseTemplate,
  renderTemplate,
} from "../../../src/orchestrate/expressions/template.ts";

const compiler = await loadCompiler();
const names = new Set(["t1", "uuid", "error", "item", "env"]);
const language: Language = { compiler, isHead: (name) => names.has(name) };
const scope = {
  uuid: "u-1",
  t1: { result: { flag: true, n: 3, map: { a: 1 }, none: null } },
  error: { task: "t1", message: "no camera", code: "exit", attempt: 2 },
  item: 'it\'s $(touch x) "q"',
};
const render = (text: string) => renderTemplate(parseTemplate(text, language), scope);

describe("a template", () => {
  test.each<[string, unknown]>([
    ["{{ t1.result.flag }}", true],
    ["{t1.result.n}", 3],
    ["${{ t1.result.map }}", { a: 1 }],
    ["{t1.result}", scope.t1.result],
    ["{{ {'a': t1.result.n} }}", { a: 3 }],
    ["{{ '}}' }}", "}}"],
    ["{t1.result.gone ?? 'none'}", "none"],
  ])("that is one expression keeps its type: %s", (text, value) => {
    expect(render(text)).toEqual({ ok: true, value });
  });

  test.each([
    ["/tmp/{uuid}.jpg", "/tmp/u-1.jpg"],
    ["n={t1.result.n} map={t1.result.map}", 'n=3 map={"a":1}'],
    [
      "awk '{print $1}' {x} ${uuid} {\"json\": 1} {nobody.x}",
      "awk '{print $1}' {x} ${uuid} {\"json\": 1} {nobody.x}",
    ],
    ["{{{{ uuid }}", "{{ uuid }}"],
    ["{error}", "t1: no camera (exit) after 2 attempts"],
    ["stopped: {{ error }}", "stopped: t1: no camera (exit) after 2 attempts"],
    ["{error.message}", "no camera"],
  ])("inside a text is text, and every other brace stays: %s", (text, value) => {
    expect(render(text)).toEqual({ ok: true, value });
  });

  test("that cannot be filled is never passed on as it stands", () => {
    expect(render("x {t1.result.gone}")).toMatchObject({ ok: false, code: "missing" });
    expect(parseTemplate("x {{ uuid", language).issues).toEqual([
      { what: "a template is not closed", hint: "close it with }}, or write {{{{ for two braces", at: 2 },
    ]);
    expect(parseTemplate("x {t9.result.y}", language).lookAlikes).toEqual(["{t9.result.y}"]);
  });

  test("in a value: texts are templates, keys are not", () => {
    const value = compileValue({ "{uuid}": ["{t1.result.n}", 1, null, { deep: "{uuid}" }] }, language);

    expect(renderValue(value, scope)).toEqual({
      ok: true,
      value: { "{uuid}": [3, 1, null, { deep: "u-1" }] },
    });
  });
});

/** What a real shell makes of a command with `item` in it. */
function shellOutput(command: string, item: unknown): string {
  const compiled = compileShell(parseTemplate(command, language));
  expect(compiled.issues).toEqual([]);
  const rendered = renderShell(compiled, { ...scope, item });
  if (!rendered.ok) throw new Error(rendered.message);
  return execFileSync("sh", ["-c", rendered.value.command], { encoding: "utf8", env: rendered.value.env });
}

describe("a template in a shell command", () => {
  test.each([
    ["printf %s {{ item }}", "bare"],
    ['printf %s "{{ item }}"', "in double quotes"],
    ["printf %s '{{ item }}'", "in single quotes"],
    ["printf %s \"$(printf %s '{item}')\"", "in a substitution in quotes"],
    ["printf %s \\\" >/dev/null; printf %s {item} # it's a comment", "before a comment with an apostrophe"],
    ["# don't\nprintf %s {item}", "after a comment with an apostrophe"],
    ["(printf %s {item})", "in a sub-shell"],
  ])("is a value and never code: %s (%s)", (command) => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), (text) => {
        const item = `${text.replaceAll("\0", "").replace(/\n+$/, "")}'"$(echo x)\`y\`;*`;
        expect(shellOutput(command, item)).toBe(item);
      }),
      { numRuns: 15, examples: [[scope.item]] },
    );
  });

  test("values of other types are written as JSON", () => {
    expect(shellOutput("printf %s {item}", { key: "value" })).toBe('{"key":"value"}');
  });

  test.each([
    ["cat <<END\n{item}\nEND", "here-document"],
    ["echo $(( {item} + 1 ))", "arithmetic"],
    ["echo ${X:-{item}}", "${…}"],
    ["echo `echo {item}`", "backquotes"],
    ["echo $'{item}'", "$'…'"],
    ["ls # {item}", "comment"],
  ])("is refused where it could not be quoted: %s", (command, inside) => {
    const { issues } = compileShell(parseTemplate(command, language));

    expect(issues).toHaveLength(1);
    expect(issues[0]?.what).toContain(inside);
    expect(issues[0]?.hint).toContain("env:");
  });
});
