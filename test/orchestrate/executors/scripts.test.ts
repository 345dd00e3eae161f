// How params reach a script, and what its end means as a result.

import { describe, expect, test } from "vitest";
import { passParams } from "../../../src/orchestrate/executors/script-params.ts";
import { resultOfScript } from "../../../src/orchestrate/executors/script-result.ts";

describe("params of a script", () => {
  const pass = (params: Record<string, unknown>, how: "both" | "arguments" | "environment" = "both") =>
    passParams(params, { pass: how, isDeclared: () => false });

  test("each is an argument and a variable, verbatim: nothing is ever code", () => {
    expect(pass({ host: "$(reboot) 'x'", "max-items": 3, deep: { a: [1] } })).toEqual({
      args: ["--host", "$(reboot) 'x'", "--max-items", "3", "--deep", '{"a":[1]}'],
      env: { PARAM_HOST: "$(reboot) 'x'", PARAM_MAX_ITEMS: "3", PARAM_DEEP: '{"a":[1]}' },
    });
  });

  test("true is a flag, false and null are left out; items of args are positional and come last", () => {
    expect(pass({ args: ["/data", 7], verbose: true, quiet: false, none: null })).toEqual({
      args: ["--verbose", "/data", "7"],
      env: { PARAM_VERBOSE: "true", PARAM_QUIET: "false" },
    });
  });

  test("a script may ask for one of the two", () => {
    expect(pass({ a: 1 }, "environment")).toEqual({ args: [], env: { PARAM_A: "1" } });
    expect(pass({ a: 1 }, "arguments")).toEqual({ args: ["--a", "1"], env: {} });
  });
});

describe("a script's result", () => {
  const ended = {
    exitCode: 0,
    stdout: "",
    stderr: "",
    isTruncated: false,
    file: undefined,
    outputFile: "output/x.md",
  };

  test.each([
    ["the file it wrote, as JSON", { file: '{"a":1}\n', stdout: '{"b":2}' }, { a: 1 }],
    ["the file it wrote, as text", { file: "done\n" }, "done\n"],
    ["its last line of JSON", { stdout: 'looking…\n{"a":1}\n{"status":"ok"}\n' }, { status: "ok" }],
    ["all it printed, where that is JSON", { stdout: '{\n  "a": [1,\n  2]\n}\n' }, { a: [1, 2] }],
    [
      "its words: a bare number is what scripts say to people",
      { stdout: "42\n", stderr: "hm" },
      { stdout: "42\n", stderr: "hm", exitCode: 0 },
    ],
    [
      "its words, where braces are no JSON",
      { stdout: "{not json}\n" },
      { stdout: "{not json}\n", stderr: "", exitCode: 0 },
    ],
  ])("is %s", (_, parts, result) => {
    expect(resultOfScript({ ...ended, ...parts })).toEqual(result);
  });

  test("dagu#231: a value keeps its quotes and its type on the way to the next task", () => {
    expect(resultOfScript({ ...ended, stdout: '{"key":"va\\"lue"}' })).toEqual({ key: 'va"lue' });
  });

  test("words that are too many are cut at their beginning, and say where the rest is", () => {
    const result = resultOfScript({ ...ended, stdout: `${"x".repeat(10_000)}end` });

    expect(result).toMatchObject({ isTruncated: true, file: "output/x.md" });
    expect((result as { stdout: string }).stdout).toHaveLength(8_000);
  });
});
