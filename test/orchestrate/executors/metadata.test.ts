// What comments and docstrings say of their executors.

import { describe, expect, test } from "vitest";
import { readMetadata } from "../../../src/orchestrate/executors/metadata.ts";
import { leadingComment } from "../../../src/orchestrate/executors/script-comment.ts";

const read = (text: string) =>
  readMetadata(text.split("\n").map((line, index) => ({ text: line, line: index + 1 })));

describe("metadata", () => {
  test("the seed's docstring is read as it is written there", () => {
    const { metadata, description, problems } = read(
      "检查仓库服务器磁盘使用率\nhermes:timeout 60\nhermes:retry 2\nhermes:resources {cpu: 1, memory_mb: 64}",
    );

    expect(metadata).toEqual({ timeout: 60, retry: 2, resources: { cpu: 1, memoryMb: 64 } });
    expect(description).toBe("检查仓库服务器磁盘使用率");
    expect(problems).toEqual([]);
  });

  test("one line may say it all, parts of resources by themselves and snake_case included", () => {
    const { metadata } = read(
      'nightshift: timeout=60 retry={max: 2, delay: 5s} memory_mb=64 gpu=1 labels=[line-a] effects=idempotent version=2 name="inventory"',
    );

    expect(metadata).toEqual({
      timeout: 60,
      retry: { max: 2, delay: "5s" },
      resources: { memoryMb: 64, gpu: 1, labels: ["line-a"] },
      effects: "idempotent",
      version: "2",
      name: "inventory",
    });
  });

  test("params are declared one a line: type, default, whether it may be left out, words", () => {
    const { input } = read(
      "param host string  the server to ask\nparam port integer = 22\nparam verbose bool optional\nparam tags list=[a, b]\nparam any_thing",
    );

    expect(input).toEqual({
      type: "object",
      additionalProperties: false,
      required: ["host", "any_thing"],
      properties: {
        host: { type: "string", description: "the server to ask" },
        port: { type: "integer", default: 22 },
        verbose: { type: "boolean" },
        tags: { type: "array", default: ["a", "b"] },
        any_thing: {},
      },
    });
  });

  test.each([
    ['nightshift: timeout="60"', "timeout is a number in quotes; write 60"],
    ["nightshift: tiemout=60", 'unknown key "tiemout"; did you mean "timeout"?'],
    ["nightshift: retry=-1", "retry"],
    ["nightshift: timeout = 60", "is not name=value"],
    ["nightshift: timeout=1\nnightshift: timeout=2", "timeout is said twice"],
    ["nightshift: effects=nothing", "effects must be one of none, idempotent, external"],
    ["param 7up string", "cannot be read"],
    ["param a string\nparam a string", "param a stands twice"],
  ])("%j is a mistake with its line: %s", (text, message) => {
    const { problems } = read(`words\n${text}`);

    expect(problems.map((problem) => problem.text).join("\n")).toContain(message);
    expect(problems[0]?.line).toBeGreaterThanOrEqual(2);
  });

  test("words of the person's own are none of it", () => {
    expect(read("Checks stock. Parameters: see the wiki.\nparameters are read from stdin")).toMatchObject({
      metadata: {},
      isPresent: false,
      problems: [],
    });
  });
});

describe("a leading comment", () => {
  test.each([
    ["sh", "#!/bin/sh\n# one\n#two\n\n# three\nls\n# not any more\n"],
    ["javascript", "#!/usr/bin/env node\n// one\n//two\n// three\nlet x;\n// no\n"],
    ["a block", "/*\n * one\n * two\n * three\n */\nint main;\n"],
    ["SQL and Lua", "-- one\n-- two\n-- three\nselect 1;\n"],
  ])("of %s ends where its code begins", (_, source) => {
    const texts = leadingComment(source).map(({ text }) => text.trim());

    expect(texts.filter((text) => text !== "")).toEqual(["one", "two", "three"]);
  });

  test("lines count from the top of the file, without shebang and encoding", () => {
    expect(leadingComment("#!/usr/bin/python3\n# -*- coding: utf-8 -*-\n# nightshift: timeout=5\n")).toEqual([
      { text: "nightshift: timeout=5", line: 3 },
    ]);
  });
});
