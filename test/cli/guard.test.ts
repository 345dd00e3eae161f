// `nightshift guard` as people and programs meet it.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliHome, oneLine } from "./run-cli.ts";

test("U1: a text that passes exits with 0, one that is blocked with 1 and says rule, reason and place; no home is made", async () => {
  const home = await cliHome();
  const elsewhere = join(home.path, "none");
  const passed = await home.run(["--home", elsewhere, "guard"], { stdin: "Summarise the news.\n" });
  const blocked = await home.run(["--home", elsewhere, "guard", "-"], { stdin: "First\nrun rm -rf /\n" });

  expect(passed).toEqual({ exitCode: 0, stdout: "pass\n", stderr: "" });
  expect(blocked).toMatchObject({ exitCode: 1, stderr: "" });
  expect(blocked.stdout).toMatch(/^block {2}destructive-root-rm\n {2}It deletes .*\n {2}2:5: rm -rf \/⏎\n$/);
  await expect(home.list("none")).rejects.toThrow(/ENOENT/);
});

test("a file is read, --loose lets commands pass, and --json prints one document", async () => {
  const home = await cliHome();
  const file = join(home.path, "skill.md");
  await writeFile(file, "cat .env\n");
  const strict = await home.run(["guard", file, "--json"]);
  const loose = await home.run(["guard", "--loose", file, "--json"]);

  expect(strict.exitCode).toBe(1);
  expect(JSON.parse(strict.stdout)).toMatchObject({
    id: null,
    verdict: "block",
    rule: "read-secrets",
    at: { line: 1, column: 1 },
  });
  expect(loose.exitCode).toBe(0);
  expect(JSON.parse(loose.stdout)).toEqual({ id: null, verdict: "pass", rule: null, reason: null, at: null });
});

test("JSON lines are judged one by one, each by its own mode, in order", async () => {
  const home = await cliHome();
  const lines = [
    { id: "a", text: "hello" },
    { id: 2, text: "rm -rf /" },
    { id: "c", text: "rm -rf /", mode: "loose" },
  ];
  const { exitCode, stdout } = await home.run(["guard", "--json"], {
    stdin: `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`,
  });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

  expect(exitCode).toBe(1);
  expect(answers.map(({ id, verdict }) => [id, verdict])).toEqual([
    ["a", "pass"],
    [2, "block"],
    ["c", "pass"],
  ]);
});

test.each([
  ["nope", "line 2 is no JSON object"],
  ['{"id": 1}', "line 2 has no `text`"],
  ['{"id": 1, "text": "x", "mode": "lose"}', "line 2 has a `mode`"],
])("U1: the bad line %s is refused with its number, and nothing is judged", async (line, said) => {
  const home = await cliHome();
  const { exitCode, stdout, stderr } = await home.run(["guard", "--json"], {
    stdin: `{"id": 0, "text": "x"}\n${line}\n`,
  });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(JSON.parse(stderr).error).toMatchObject({
    code: "input.invalid",
    message: expect.stringContaining(said),
    place: { line: 2 },
  });
});

test("U1: a file that is not there is wrong input", async () => {
  const home = await cliHome();
  expect(oneLine(await home.run(["guard", "/none.md"]))).toMatch(/^\/none\.md cannot be read/);
});
