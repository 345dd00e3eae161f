import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeListFolderTool } from "../../../src/agent/tools/list-folder.ts";
import { makePathGuard } from "../../../src/agent/tools/path-guard.ts";
import { makeReadFileTool } from "../../../src/agent/tools/read-file.ts";
import { makeSearchFilesTool } from "../../../src/agent/tools/search-files.ts";
import { tempFolder } from "../../support/temp.ts";
import { call, refusalOf, shellEnvironment } from "./room.ts";

async function folder(files: Record<string, string | Buffer>) {
  const cwd = await tempFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  const deps = { environment: shellEnvironment(cwd), guardPath: () => undefined };
  return { cwd, deps, tool: makeSearchFilesTool(deps) };
}

describe("search_files", () => {
  test("contents: path, line and text, as read_file takes them", async () => {
    const { cwd, tool } = await folder({
      "src/a.ts": "one\nconst port = 4747;\n",
      "src/deep/b.ts": "port\n",
      "c.md": "Port\n",
    });

    const all = await call(tool, { pattern: "port" });
    expect(all).toMatchObject({ error: null, isCut: false });
    expect((all.results as string[]).sort()).toEqual([
      "src/a.ts:2: const port = 4747;",
      "src/deep/b.ts:1: port",
    ]);
    expect(await call(tool, { pattern: "PORT", caseSensitive: false, path: "c.md" })).toMatchObject({
      results: ["c.md:1: Port"],
    });
    expect(await call(tool, { pattern: "^port$", path: "src/deep/" })).toMatchObject({
      results: ["src/deep/b.ts:1: port"],
    });
    expect(await call(tool, { pattern: "const", path: join(cwd, "src") })).toMatchObject({
      results: [`${join(cwd, "src/a.ts")}:2: const port = 4747;`],
    });
  });

  test("expressions as models write them work: \\d, \\s, \\b, alternation", async () => {
    const { tool } = await folder({ log: "error 42 at 10:05\nno number\nterror 7\n" });

    expect(await call(tool, { pattern: "\\berror\\s\\d+" })).toMatchObject({
      results: ["log:1: error 42 at 10:05"],
    });
    expect(await call(tool, { pattern: "(number|terror)" })).toMatchObject({
      results: ["log:2: no number", "log:3: terror 7"],
    });
  });

  test("nothing in a pattern, a name or a path reaches the shell", async () => {
    const { cwd, tool } = await folder({ "a'b $(touch hit) `x`/-f": "it's $(touch hit2); rm\n" });

    const byContent = await call(tool, { pattern: "it's \\$\\(touch hit2\\); rm" });
    const byName = await call(tool, { name: "-f", path: "a'b $(touch hit) `x`" });
    const hostile = await call(tool, { pattern: "-x'; touch hit3; '", name: "*'$(touch hit4)*" });

    expect(byContent.results).toEqual(["a'b $(touch hit) `x`/-f:1: it's $(touch hit2); rm"]);
    expect(byName.results).toEqual(["a'b $(touch hit) `x`/-f"]);
    expect(hostile).toMatchObject({ error: null, results: [] });
    const made = await call(
      makeSearchFilesTool({ environment: shellEnvironment(cwd), guardPath: () => undefined }),
      {
        name: "hit*",
      },
    );
    expect(made.results).toEqual([]);
  });

  test("names: globs over names, and over paths where they hold a slash", async () => {
    const { tool } = await folder({ "a.log": "", "src/x.ts": "", "src/deep/y.ts": "", "src/deep/z.log": "" });

    expect((await call(tool, { name: "*.log" })).results).toEqual(["a.log", "src/deep/z.log"]);
    expect((await call(tool, { name: "src/**/*.ts" })).results).toEqual(["src/deep/y.ts", "src/x.ts"]);
    expect((await call(tool, { name: "x.??", path: "src" })).results).toEqual(["src/x.ts"]);
  });

  test("a log that is not UTF-8 is searched, a binary file is not", async () => {
    const { tool } = await folder({
      latin1: Buffer.from("caf\xe9 error\n", "latin1"),
      binary: Buffer.from("error\0\n"),
      chinese: "磁盘错误\n",
    });

    expect((await call(tool, { pattern: "error" })).results).toEqual(["latin1:1: caf\uFFFD error"]);
    expect((await call(tool, { pattern: "磁.错误" })).results).toEqual(["chinese:1: 磁盘错误"]);
  });

  test(".git and node_modules are skipped, unless the search starts there", async () => {
    const { tool } = await folder({
      ".git/config": "x\n",
      "node_modules/p/i.js": "x\n",
      "a/node_modules/i.js": "x\n",
      b: "x\n",
    });

    expect((await call(tool, { pattern: "x" })).results).toEqual(["b:1: x"]);
    expect((await call(tool, { pattern: "x", path: "node_modules" })).results).toEqual([
      "node_modules/p/i.js:1: x",
    ]);
  });

  test("results and lines are bounded, and the answer says so", async () => {
    const { tool } = await folder({ a: "hit\n".repeat(5_000), b: `${"y".repeat(100_000)}hit\n` });

    const many = await call(tool, { pattern: "hit", path: "a", maxResults: 7 });
    const wide = await call(tool, { pattern: "hit", path: "b" });

    expect(many).toMatchObject({ isCut: true });
    expect(many.results).toHaveLength(7);
    expect((wide.results as string[])[0]?.length).toBeLessThan(320);
  });

  test("a pattern that cannot be read and a path that is not there are told", async () => {
    const { tool } = await folder({ a: "" });

    expect((await call(tool, { pattern: "(" })).error).toMatch(/pattern cannot be read/);
    expect((await call(tool, { pattern: "x", path: "gone" })).error).toMatch(/does not exist/);
    expect(refusalOf(tool, {})).toContain("`pattern`, `name` or both");
    expect(refusalOf(tool, { pattern: "a\nb" })).toContain("line breaks");
  });

  test("S1: a search from above the home shows nothing of it, through no link either", async () => {
    const { cwd, deps } = await folder({
      "home/.env": "KEY=secret\n",
      "home/workspaces/run-1/notes": "KEY of mine\n",
      "project/config": "KEY elsewhere\n",
    });
    await symlink(join(cwd, "home"), join(cwd, "project", "link"));
    const home = join(cwd, "home");
    const guardPath = makePathGuard({ home, allowed: [join(home, "workspaces", "run-1")] });

    const filtered = await call(makeSearchFilesTool({ ...deps, guardPath }), { pattern: "KEY" });
    const skipped = await call(makeSearchFilesTool({ ...deps, guardPath, skipFolders: [home] }), {
      pattern: "KEY",
    });
    const names = await call(makeSearchFilesTool({ ...deps, guardPath }), { name: "*" });

    expect((filtered.results as string[]).sort()).toEqual([
      "home/workspaces/run-1/notes:1: KEY of mine",
      "project/config:1: KEY elsewhere",
    ]);
    expect(skipped.results).toEqual(["project/config:1: KEY elsewhere"]);
    expect(names.results).toEqual(["home/workspaces/run-1/notes", "project/config"]);
  });
});

const BUSYBOX = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));

// Small images have BusyBox instead of GNU's tools: no -P, no -I, other messages.
test.skipIf(BUSYBOX === undefined)("search_files works with BusyBox's find and grep", async () => {
  const applets = await tempFolder();
  execFileSync(BUSYBOX ?? "", ["--install", "-s", applets]);
  const { cwd } = await folder({
    "src/a.log": "error 42\n",
    "src/b.txt": "error x\n",
    ".git/c": "error 1\n",
  });
  const deps = { environment: shellEnvironment(cwd, { PATH: applets }), guardPath: () => undefined };
  const tool = makeSearchFilesTool(deps);

  expect(await call(tool, { pattern: "error \\d+" })).toMatchObject({
    error: null,
    results: ["src/a.log:1: error 42"],
  });
  expect(await call(tool, { pattern: "ERROR", caseSensitive: false, name: "*.txt" })).toMatchObject({
    results: ["src/b.txt:1: error x"],
  });
  expect(await call(tool, { name: "src/**/*.log" })).toMatchObject({ error: null, results: ["src/a.log"] });
  expect((await call(tool, { pattern: "(" })).error).toMatch(/cannot be read/);
  expect((await call(tool, { pattern: "x", path: "gone" })).error).toMatch(/does not exist/);
  expect(await call(makeListFolderTool(deps), { path: "src" })).toMatchObject({
    entries: ["a.log", "b.txt"],
  });
  expect(await call(makeReadFileTool(deps), { path: "src/a.log" })).toMatchObject({ content: "1\terror 42" });
});
