import { chmod, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FileToolDeps } from "../../../src/agent/tools/file-place.ts";
import { makeListFolderTool } from "../../../src/agent/tools/list-folder.ts";
import { makePatchFileTool } from "../../../src/agent/tools/patch-file.ts";
import { makePathGuard } from "../../../src/agent/tools/path-guard.ts";
import { makeReadFileTool } from "../../../src/agent/tools/read-file.ts";
import { makeWriteFileTool } from "../../../src/agent/tools/write-file.ts";
import { tempFolder } from "../../support/temp.ts";
import { call, refusalOf, shellEnvironment } from "./room.ts";

async function room(guardPath: FileToolDeps["guardPath"] = () => undefined) {
  const cwd = await tempFolder();
  const deps = { environment: shellEnvironment(cwd, { HOME: cwd }), guardPath };
  return { cwd, deps, write: (name: string, text: string | Buffer) => writeFile(join(cwd, name), text) };
}

describe("read_file", () => {
  test("lines come numbered, and a range of them is a range", async () => {
    const { cwd, deps, write } = await room();
    await write("a.txt", "one\r\ntwo\nthree\nfour\n");
    const tool = makeReadFileTool(deps);

    expect(await call(tool, { path: "a.txt" })).toEqual({
      error: null,
      path: join(cwd, "a.txt"),
      content: "1\tone\n2\ttwo\n3\tthree\n4\tfour",
      firstLine: 1,
      lastLine: 4,
      isCut: false,
      totalLines: 4,
    });
    expect(await call(tool, { path: "~/a.txt", offset: 2, limit: 2 })).toMatchObject({
      content: "2\ttwo\n3\tthree",
      totalLines: 4,
    });
    expect(await call(tool, { path: "a.txt", offset: -1 })).toMatchObject({
      content: "4\tfour",
      firstLine: 4,
    });
    expect(await call(tool, { path: "a.txt", offset: 9 })).toMatchObject({
      error: expect.stringContaining("has 4 lines"),
    });
    expect(refusalOf(tool, { path: "a.txt", offset: 0 })).toContain("lines count from 1");
  });

  test("an empty file is no error", async () => {
    const { deps, write } = await room();
    await write("empty", "");

    expect(await call(makeReadFileTool(deps), { path: "empty" })).toMatchObject({
      error: null,
      content: "",
      totalLines: 0,
    });
  });

  test("2,000 lines and 100,000 characters are the most, and a line of a megabyte is cut", async () => {
    const { deps, write } = await room();
    await write("long", "x\n".repeat(5_000));
    await write("wide", `${"y".repeat(1_000_000)}\nend\n`);
    await write("broad", `${"z".repeat(1_500)}\n`.repeat(500));
    const tool = makeReadFileTool(deps);

    expect(await call(tool, { path: "long" })).toMatchObject({ lastLine: 2_000, totalLines: 5_000 });
    const wide = await call(tool, { path: "wide" });
    expect(String(wide.content)).toMatch(/^1\ty{2000} \[… 998000 more\]\n2\tend$/);
    const broad = await call(tool, { path: "broad" });
    expect(broad).toMatchObject({ isCut: true, totalLines: 500 });
    expect(String(broad.content).length).toBeLessThanOrEqual(100_000);
  });

  test("a file too large to be read whole gives its lines anyway, from both ends", async () => {
    const { deps, write } = await room();
    await write("big.log", Array.from({ length: 800_000 }, (_, index) => `line ${index + 1}`).join("\n"));
    const tool = makeReadFileTool(deps);

    expect(await call(tool, { path: "big.log", offset: 700_000, limit: 2 })).toMatchObject({
      error: null,
      content: "700000\tline 700000\n700001\tline 700001",
      totalLines: null,
    });
    expect(await call(tool, { path: "big.log", offset: -2 })).toMatchObject({
      error: null,
      content: "line 799999\nline 800000",
    });
  });

  test("a binary file, a folder and a missing file are refused with a sentence", async () => {
    const { cwd, deps, write } = await room();
    await write("x.bin", Buffer.from([1, 2, 0, 3]));
    const tool = makeReadFileTool(deps);

    expect(await call(tool, { path: "x.bin" })).toEqual({
      error: `${join(cwd, "x.bin")} is a binary file of 4 bytes and has no text to read.`,
    });
    expect(await call(tool, { path: "." })).toMatchObject({ error: expect.stringContaining("no file") });
    expect(await call(tool, { path: "gone" })).toMatchObject({
      error: expect.stringContaining("does not exist"),
    });
  });

  test("UTF-16 with its mark is text", async () => {
    const { deps, write } = await room();
    await write("utf16", Buffer.from("\uFEFFhéllo\n", "utf16le"));

    expect(await call(makeReadFileTool(deps), { path: "utf16" })).toMatchObject({ content: "1\théllo" });
  });
});

describe("write_file", () => {
  test("folders on the way are made; a script that was executable stays so", async () => {
    const { cwd, deps, write } = await room();
    await write("run.sh", "echo old\n");
    await chmod(join(cwd, "run.sh"), 0o755);
    const tool = makeWriteFileTool(deps);

    expect(await call(tool, { path: "a/b/c.txt", content: "größe\n" })).toEqual({
      error: null,
      path: join(cwd, "a/b/c.txt"),
      bytes: 8,
      isNew: true,
    });
    expect(await call(tool, { path: "run.sh", content: "echo new\n" })).toMatchObject({ isNew: false });
    expect((await stat(join(cwd, "run.sh"))).mode & 0o777).toBe(0o755);
    expect(await readFile(join(cwd, "a/b/c.txt"), "utf8")).toBe("größe\n");
  });
});

describe("a file that was read with its secrets hidden", () => {
  const SECRET = "key = hunter2-hunter2\nport = 1\n";

  test("is not written back with the mark where the secret stands", async () => {
    const { cwd, deps, write } = await room();
    await write("app.ini", SECRET);
    const refused = { error: expect.stringContaining("stands for a secret") };

    const content = "key = [redacted]\nport = 2\n";
    expect(await call(makeWriteFileTool(deps), { path: "app.ini", content })).toMatchObject(refused);
    const patch = makePatchFileTool(deps);
    const whole = { old: "port = 1", new: "key = [redacted]\nport = 2" };
    expect(await call(patch, { path: "app.ini", ...whole })).toMatchObject(refused);
    expect(await call(patch, { path: "app.ini", old: "key = [redacted]", new: "key = x" })).toMatchObject({
      error: expect.stringContaining("you were not shown"),
    });
    expect(await readFile(join(cwd, "app.ini"), "utf8")).toBe(SECRET);
  });

  test("other lines of it may change, and a text that quotes the mark may be new or stay", async () => {
    const { cwd, deps, write } = await room();
    await write("app.ini", SECRET);
    const patch = makePatchFileTool(deps);
    const tool = makeWriteFileTool(deps);

    expect(await call(patch, { path: "app.ini", old: "port = 1", new: "port = 2" })).toMatchObject({
      error: null,
    });
    for (const content of ["seen: key = [redacted]\n", "seen twice: key = [redacted]\n"])
      expect(await call(tool, { path: "report.txt", content })).toMatchObject({ error: null });
    expect(await readFile(join(cwd, "app.ini"), "utf8")).toBe("key = hunter2-hunter2\nport = 2\n");
  });
});

describe("patch_file", () => {
  test("the only place is replaced; every other byte stays, also what is not UTF-8", async () => {
    const { cwd, deps, write } = await room();
    await write("a", Buffer.concat([Buffer.from([0xff, 0xfe, 0x41]), Buffer.from("\none\ntwo\n")]));

    expect(await call(makePatchFileTool(deps), { path: "a", old: "two\n", new: "2\n3\n" })).toMatchObject({
      error: null,
      replacements: 1,
      lines: [3],
    });
    expect(await readFile(join(cwd, "a"))).toEqual(
      Buffer.concat([Buffer.from([0xff, 0xfe, 0x41]), Buffer.from("\none\n2\n3\n")]),
    );
  });

  test("a text that stands twice is refused with its lines, and replaced everywhere when asked", async () => {
    const { cwd, deps, write } = await room();
    await write("a", "x = 1\ny\nx = 1\n");
    const tool = makePatchFileTool(deps);

    expect(await call(tool, { path: "a", old: "x = 1", new: "x = 2" })).toMatchObject({
      error: expect.stringMatching(/stands 2 times in the file, at lines 1, 3\./),
    });
    expect(await readFile(join(cwd, "a"), "utf8")).toBe("x = 1\ny\nx = 1\n");
    expect(await call(tool, { path: "a", old: "x = 1", new: "x = 2", replaceAll: true })).toMatchObject({
      error: null,
      lines: [1, 3],
    });
    expect(await readFile(join(cwd, "a"), "utf8")).toBe("x = 2\ny\nx = 2\n");
  });

  test("nothing is guessed: other spaces are refused, with the line where it may be meant", async () => {
    const { cwd, deps, write } = await room();
    await write("a", "def f():\n\treturn  1\n");
    const tool = makePatchFileTool(deps);

    expect(await call(tool, { path: "a", old: "    return 1\n", new: "    return 2\n" })).toMatchObject({
      error: expect.stringContaining("at line 2"),
    });
    expect(await call(tool, { path: "a", old: "absent", new: "" })).toMatchObject({
      error: expect.stringContaining("not in the file"),
    });
    expect(await call(tool, { path: "a", old: "def", new: "def" })).toMatchObject({
      error: expect.stringContaining("the same"),
    });
    expect(await readFile(join(cwd, "a"), "utf8")).toBe("def f():\n\treturn  1\n");
  });

  test("in a file of CRLF lines the new lines end with CRLF too", async () => {
    const { cwd, deps, write } = await room();
    await write("a", "one\r\ntwo\r\nthree\r\n");

    await call(makePatchFileTool(deps), { path: "a", old: "one\ntwo\n", new: "1\n2\n2b\n" });

    expect(await readFile(join(cwd, "a"), "utf8")).toBe("1\r\n2\r\n2b\r\nthree\r\n");
  });

  test("`$&` in the new text is text", async () => {
    const { cwd, deps, write } = await room();
    await write("a", "cost: X\n");

    await call(makePatchFileTool(deps), { path: "a", old: "X", new: "$& $1" });

    expect(await readFile(join(cwd, "a"), "utf8")).toBe("cost: $& $1\n");
  });
});

describe("list_folder", () => {
  test("names in order, hidden ones too, folders marked", async () => {
    const { cwd, deps, write } = await room();
    await mkdir(join(cwd, "sub dir"));
    await write("b", "");
    await write(".hidden", "");
    await write("-n", "");

    expect(await call(makeListFolderTool(deps), {})).toEqual({
      error: null,
      path: cwd,
      entries: ["-n", ".hidden", "b", "sub dir/"],
      total: 4,
      isCut: false,
    });
    expect(await call(makeListFolderTool(deps), { path: "gone" })).toMatchObject({
      error: expect.stringContaining("cannot be listed"),
    });
  });
});

describe("S1: the file tools and the home", () => {
  async function home() {
    const root = await tempFolder();
    const path = join(root, "home");
    const workspace = join(path, "workspaces", "run-1");
    await mkdir(workspace, { recursive: true });
    await writeFile(join(path, ".env"), "KEY=secret\n");
    return { root, path, workspace, guard: makePathGuard({ home: path, allowed: [workspace] }) };
  }

  test("every file of the home is denied but the run's own folders", async () => {
    const { root, path, workspace, guard } = await home();

    for (const denied of [
      path,
      join(path, ".env"),
      join(path, "jobs/new.yaml"),
      join(path, "workspaces", "run-2"),
    ])
      expect(guard(denied), denied).toMatch(/refused/);
    for (const allowed of [
      root,
      workspace,
      join(workspace, "new/file"),
      join(root, "home-2"),
      "/etc/hostname",
    ])
      expect(guard(allowed), allowed).toBeUndefined();
  });

  test("links lead nowhere else: to a file, to a folder, dangling, out of the workspace, in a circle", async () => {
    const { root, path, workspace, guard } = await home();
    await symlink(join(path, ".env"), join(workspace, "env"));
    await symlink(path, join(root, "elsewhere"));
    await symlink(join(path, "jobs", "made-later.yaml"), join(root, "dangling"));
    await symlink(workspace, join(root, "work"));
    await symlink(join(root, "b"), join(root, "a"));
    await symlink(join(root, "a"), join(root, "b"));

    expect(guard(join(workspace, "env"))).toMatch(/refused/);
    expect(guard(join(root, "elsewhere", "ledger.db"))).toMatch(/refused/);
    expect(guard(join(root, "dangling"))).toMatch(/refused/);
    expect(guard(join(root, "a"))).toMatch(/circle/);
    expect(guard(join(root, "work", "notes.md"))).toBeUndefined();
  });

  test("`..` does not lead back in, and nothing is read or written there", async () => {
    const { path, workspace, guard } = await home();
    const deps = { environment: shellEnvironment(workspace), guardPath: guard };

    const read = await call(makeReadFileTool(deps), { path: "../../.env" });
    const written = await call(makeWriteFileTool(deps), { path: "../../jobs/x.yaml", content: "id: x" });
    const patched = await call(makePatchFileTool(deps), {
      path: join(path, ".env"),
      old: "secret",
      new: "x",
    });

    for (const { error, ...rest } of [read, written, patched]) {
      expect(error).toMatch(/belongs to Nightshift itself/);
      expect(rest).toEqual({});
    }
    expect(await readFile(join(path, ".env"), "utf8")).toBe("KEY=secret\n");
  });

  test("what may be read need not be what may be changed", async () => {
    const { path, workspace, guard } = await home();
    const skills = join(path, "skills");
    await mkdir(skills);
    await writeFile(join(skills, "a.md"), "old");
    const guardPath = makePathGuard({ home: path, allowed: [workspace, skills] });
    const deps = { environment: shellEnvironment(workspace), guardPath, guardWrite: guard };
    const file = join(skills, "a.md");

    expect(await call(makeReadFileTool(deps), { path: file })).toMatchObject({ content: "1\told" });
    expect((await call(makeWriteFileTool(deps), { path: file, content: "new" })).error).toMatch(/refused/);
    expect((await call(makePatchFileTool(deps), { path: file, old: "old", new: "new" })).error).toMatch(
      /refused/,
    );
    expect(await readFile(file, "utf8")).toBe("old");
  });

  test.each([
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/self/root/etc/passwd",
    `/proc/${process.pid}/fd/0`,
  ])("what the kernel shows of processes is denied: %s", async (path) => {
    const { guard } = await home();

    expect(guard(path)).toMatch(/secrets/);
  });
});
