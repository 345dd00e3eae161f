import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readContextFiles } from "../../../src/agent/prompt/read-context-files.ts";
import { tempFolder } from "../../support/temp.ts";

test("AGENTS.md and CLAUDE.md are read; one that is a link to the other counts once", async () => {
  const both = await tempFolder();
  await writeFile(join(both, "AGENTS.md"), "a\n");
  await writeFile(join(both, "CLAUDE.md"), "c\n");
  const linked = await tempFolder();
  await writeFile(join(linked, "AGENTS.md"), "a\n");
  await symlink("AGENTS.md", join(linked, "CLAUDE.md"));

  expect(await readContextFiles(both)).toEqual([
    { name: "AGENTS.md", text: "a\n" },
    { name: "CLAUDE.md", text: "c\n" },
  ]);
  expect(await readContextFiles(linked)).toEqual([{ name: "AGENTS.md", text: "a\n" }]);
  expect(await readContextFiles(await tempFolder())).toEqual([]);
  expect(await readContextFiles(join(both, "gone"))).toEqual([]);
});

test("a link out of the workdir shows nothing: a cloned folder cannot put other files into the prompt", async () => {
  const root = await tempFolder();
  await writeFile(join(root, ".env"), "KEY=secret\n");
  const workdir = join(root, "clone");
  await mkdir(workdir);
  await symlink("../.env", join(workdir, "AGENTS.md"));
  await mkdir(join(workdir, "CLAUDE.md"));

  expect(await readContextFiles(workdir)).toEqual([]);
});

test("20,000 characters of each are kept, its head, and the rest is counted", async () => {
  const workdir = await tempFolder();
  await writeFile(join(workdir, "AGENTS.md"), "é".repeat(50_000));
  await writeFile(join(workdir, "CLAUDE.md"), "x\n".repeat(10_000));

  const [long, whole] = await readContextFiles(workdir);

  expect(long?.text).toMatch(/^é{20000}\n\[… \d+ characters left out …\]$/);
  expect(whole?.text).toBe("x\n".repeat(10_000));
});
