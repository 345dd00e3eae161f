// Which file a path means, what runs it, and with which environment.

import { chmod, mkdir, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandEnv } from "../../src/execute/command-env.ts";
import { findCommand } from "../../src/execute/find-command.ts";
import { runScript } from "../../src/execute/run-script.ts";
import { readScript, resolveScript, typeStripping } from "../../src/execute/script-path.ts";
import { parseShebang } from "../../src/execute/shebang.ts";
import { tempFolder } from "../support/temp.ts";
import { makeContext, openRoom, workOf } from "./room.ts";

const NODE_24 = { path: "/opt/node", version: "24.1.0" };

async function scriptsFolder(): Promise<string> {
  const folder = join(await tempFolder(), "scripts");
  await mkdir(folder);
  return folder;
}

describe("a script's path", () => {
  test.each([
    ["", "is empty"],
    ["/bin/sh", "is absolute"],
    ["~/x.sh", "starts with ~"],
    ["../x.sh", "holds .."],
    ["a/../../x.sh", "holds .."],
    ["a\0.sh", "holds a NUL byte"],
    ["folder", "is not a file"],
    ["out.sh", "leads out of the scripts folder"],
    ["outside/x.sh", "leads out of the scripts folder"],
    [".", "leads out of the scripts folder"],
  ])("%j is refused because it %s", async (path, why) => {
    const folder = await scriptsFolder();
    const outside = await tempFolder();
    await writeFile(join(outside, "x.sh"), "");
    await mkdir(join(folder, "folder"));
    await symlink(join(outside, "x.sh"), join(folder, "out.sh"));
    await symlink(outside, join(folder, "outside"));

    await expect(resolveScript(folder, path)).rejects.toMatchObject({
      code: "script.path",
      message: expect.stringContaining(why),
      hint: expect.stringContaining(folder),
    });
  });

  test("a link that stays inside, a sub-folder and a linked scripts folder are fine", async () => {
    const folder = await scriptsFolder();
    await mkdir(join(folder, "sub"));
    await writeFile(join(folder, "sub/real.sh"), "");
    await symlink("sub/real.sh", join(folder, "alias.sh"));
    const linked = join(await tempFolder(), "linked");
    await symlink(folder, linked);

    for (const path of ["alias.sh", "sub/real.sh", "./sub/real.sh"])
      expect(await resolveScript(linked, path)).toBe(join(folder, "sub/real.sh"));
    expect(await readlink(linked)).toBe(folder);
  });

  test("one that is not there says where to put it", async () => {
    const folder = await scriptsFolder();
    await expect(resolveScript(folder, "gone.sh")).rejects.toMatchObject({
      code: "script.missing",
      hint: `Put it at ${join(folder, "gone.sh")}.`,
    });
  });

  test("D5: the digest is the sha256 of the bytes", async () => {
    const folder = await scriptsFolder();
    await writeFile(join(folder, "abc.js"), "abc");
    const { sha256 } = await readScript(join(folder, "abc.js"), { searchPath: "", node: NODE_24 });
    expect(sha256).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("the interpreter", () => {
  async function interpreterOf(name: string, text: string, programs: string[] = []) {
    const folder = await scriptsFolder();
    const bin = await tempFolder();
    for (const program of programs) {
      await writeFile(join(bin, program), "");
      await chmod(join(bin, program), 0o755);
    }
    await writeFile(join(folder, name), text);
    const { interpreter: found } = await readScript(join(folder, name), { searchPath: bin, node: NODE_24 });
    return [found.command.replace(`${bin}/`, ""), ...found.args];
  }

  test.each([
    ["a.sh", "echo", ["bash", "sh"], ["bash"]],
    ["a.bash", "echo", ["sh"], ["sh"]],
    ["A.SH", "echo", ["bash"], ["bash"]],
    ["a.py", "print()", ["python3"], ["python3"]],
    ["a.js", "", [], ["/opt/node"]],
    ["a.mjs", "", [], ["/opt/node"]],
    ["a.cjs", "", [], ["/opt/node"]],
    ["a.ts", "", [], ["/opt/node"]],
    ["a.py", "#!/bin/sh -e\n", ["python3"], ["/bin/sh", "-e"]],
    ["plain", "#!/bin/sh", [], ["/bin/sh"]],
    ["plain", "#!/usr/bin/env ruby\r\n", ["ruby"], ["ruby"]],
    ["plain", "#!/usr/bin/env -S deno run --allow-net\n", ["deno"], ["deno", "run", "--allow-net"]],
  ])("%s starting with %j, with %j installed, is run by %j", async (name, text, programs, expected) => {
    expect(await interpreterOf(name, text, programs)).toEqual(expected);
  });

  test.each([
    ["tool.rb", "puts", /one of the endings \.sh \.bash \.py/, "script.path"],
    ["a.py", "print()", /Install it/, "script.missing"],
    ["a.sh", "#!/no/such/program\n", /Install it/, "script.missing"],
    ["a", "#!/usr/bin/env nothing-like-it\n", /Install it/, "script.missing"],
  ])("%s starting with %j is refused with what to do", async (name, text, hint, code) => {
    await expect(interpreterOf(name, text)).rejects.toMatchObject({
      code,
      hint: expect.stringMatching(hint),
    });
  });

  test.each([
    ["22.6.0", true],
    ["22.17.1", true],
    ["22.18.0", false],
    ["23.5.0", true],
    ["23.6.0", false],
    ["24.1.0", false],
    ["26.0.0", false],
  ])("Node %s needs options for TypeScript: %s", (version, isNeeded) => {
    expect(typeStripping({ path: "node", version }).length > 0).toBe(isNeeded);
  });

  test.each(["20.19.0", "22.5.1"])("Node %s cannot run TypeScript, and says what to do", (version) => {
    expect(() => typeStripping({ path: "node", version })).toThrow(`Node ${version} cannot run TypeScript`);
  });

  test.each([
    ["echo", undefined],
    ["#!", undefined],
    ["#! /bin/sh \n", { command: "/bin/sh", args: [] }],
    ["#!/bin/awk -f x y\n", { command: "/bin/awk", args: ["-f x y"] }],
    ["#!/usr/bin/env A=1 sh\n", { command: "/usr/bin/env", args: ["A=1 sh"] }],
    ["#!/usr/bin/env -S A=1 sh\n", { command: "/usr/bin/env", args: ["-S A=1 sh"] }],
    ["#!/usr/bin/env -S 'a b' c\n", { command: "/usr/bin/env", args: ["-S 'a b' c"] }],
    ["#!/usr/bin/env -i sh\n", { command: "/usr/bin/env", args: ["-i sh"] }],
  ])("the first line %j means %j", (line, expected) => {
    expect(parseShebang(line)).toEqual(expected);
  });

  test("a script needs no execute permission, and each kind really runs here", async () => {
    const room = await openRoom();
    const scripts: [string, string][] = [
      ["a.sh", "echo sh"],
      ["a.py", "print('py')"],
      ["a.js", "console.log('js')"],
      ["a.mjs", "import 'node:fs'; console.log('mjs')"],
      ["a.cjs", "require('node:fs'); console.log('cjs')"],
      ["plain", "#!/usr/bin/env -S sh -e\necho plain"],
    ];
    for (const [name, text] of scripts) {
      await room.script(name, text);
      await chmod(join(room.deps.scriptsFolder, name), 0o600);
      const outcome = await runScript(room.deps, workOf(name), makeContext());
      expect(outcome).toMatchObject({ state: "succeeded", output: `${name.replace("a.", "")}\n` });
    }
  });

  test("a TypeScript script runs where Node can, and is refused with a reason where it cannot", async () => {
    const room = await openRoom();
    const script = await room.script("a.ts", "const word: string = 'typed'; console.log(word);");
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const isAble = major > 22 || (major === 22 && minor >= 6);

    const outcome = await runScript(room.deps, workOf(script), makeContext());

    if (isAble) expect(outcome).toEqual({ state: "succeeded", output: "typed\n", isSilent: false });
    else expect(outcome).toMatchObject({ state: "failed", error: { code: "preflight" } });
  });
});

describe("a command", () => {
  test("not there and not executable are told apart; a relative PATH entry is never searched", async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, "plain"), "");

    expect(await findCommand("plain", folder)).toMatchObject({ kind: "notExecutable" });
    expect(await findCommand(join(folder, "plain"), "")).toMatchObject({ kind: "notExecutable" });
    expect(await findCommand(join(folder, "absent"), "")).toMatchObject({ kind: "missing" });
    expect(await findCommand(folder, "")).toMatchObject({ kind: "missing" });
    expect(await findCommand("sh", `.::${folder}`)).toMatchObject({ kind: "missing" });
    expect(await findCommand("./sh", "/bin")).toMatchObject({ kind: "missing" });
    expect(await findCommand("sh", "/nowhere:/bin")).toEqual({ kind: "found", path: "/bin/sh" });
  });
});

describe("the environment (S2)", () => {
  const base = {
    nodeEnv: { PATH: "/bin", SECRET: "s" },
    timezone: "UTC",
    run: { id: "r", jobId: undefined, slot: undefined, attempt: 2, idempotencyKey: "k", parentId: "p" },
    lineage: { depth: 1 },
  };

  test("S2: the job's own words win over the node's, but never over the lineage", () => {
    expect(commandEnv({ ...base, jobEnv: { PATH: "/opt/bin", TZ: "Asia/Tokyo" } })).toEqual({
      PATH: "/opt/bin",
      TZ: "Asia/Tokyo",
      NIGHTSHIFT_RUN_ID: "r",
      NIGHTSHIFT_ATTEMPT: "2",
      NIGHTSHIFT_IDEMPOTENCY_KEY: "k",
      NIGHTSHIFT_PARENT_ID: "p",
      NIGHTSHIFT_DEPTH: "1",
    });
  });

  test.each([
    [{ NIGHTSHIFT_RUN_ID: "x" }, "belongs to Nightshift"],
    [{ "A-B": "x" }, "is not a variable's name"],
    [{ A: "x\0y" }, "holds a NUL byte"],
    [{ A: `\${ABSENT}` }, "asks for ABSENT"],
  ])("%j is refused: it %s", (jobEnv, why) => {
    expect(() => commandEnv({ ...base, jobEnv: jobEnv as Record<string, string> })).toThrow(why);
  });

  test("S2: a value that is exactly a reference hands over the node's variable; within text it is only text", () => {
    const env = commandEnv({ ...base, jobEnv: { A: `\${SECRET}`, B: `x\${SECRET}` } });
    expect([env.A, env.B]).toEqual(["s", `x\${SECRET}`]);
  });
});
