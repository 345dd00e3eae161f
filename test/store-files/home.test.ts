import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFileAtomic, writeFileAtomic } from "../../src/store/files/atomic-write.ts";
import { homePaths, openHome, readHomeFile } from "../../src/store/files/home.ts";
import { seededRandom } from "../support/random.ts";
import { tempFolder } from "../support/temp.ts";

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const open = (path: string, seed = 1) => openHome(path, { random: seededRandom(seed) });

describe("openHome", () => {
  test("makes the whole layout, folders 0700 and files 0600, parents included", async () => {
    const root = join(await tempFolder(), "deep", "home");

    const home = await open(root);

    expect((await readdir(root)).sort()).toEqual(
      [
        "executors",
        "jobs",
        "logs",
        "output",
        "run",
        "scripts",
        "skills",
        "token",
        "workflows",
        "workspaces",
      ].sort(),
    );
    for (const name of await readdir(root))
      expect(await modeOf(join(root, name))).toBe(name === "token" ? "600" : "700");
    expect(await modeOf(root)).toBe("700");
    expect(home.warnings).toEqual([]);
    expect(home.paths).toEqual(homePaths(root));
    expect(home.token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  test("S5: the token is made once, and processes that start together end up with the same one", async () => {
    const root = await tempFolder();

    const homes = await Promise.all([1, 2, 3, 4].map((seed) => open(root, seed)));

    expect(new Set(homes.map((home) => home.token)).size).toBe(1);
    expect(await readFile(join(root, "token"), "utf8")).toBe(`${homes[0]?.token}\n`);
    expect((await open(root, 9)).token).toBe(homes[0]?.token);
    expect((await readdir(root)).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("what is open to other users is named with the command that closes it, and not changed", async () => {
    const root = await tempFolder();
    await open(root);
    await writeFile(join(root, ".env"), "A=1\n", { mode: 0o644 });
    await chmod(root, 0o755);

    const { warnings } = await open(root);

    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain("chmod 700");
    expect(warnings[1]).toContain(`chmod 600 ${join(root, ".env")}`);
    expect(await modeOf(root)).toBe("755");
  });

  test("a file where the home or one of its folders should be is refused", async () => {
    const root = await tempFolder();
    await writeFile(join(root, "file"), "");
    await mkdir(join(root, "home"));
    await writeFile(join(root, "home", "jobs"), "");

    for (const path of ["file", "file/below", "home"])
      await expect(open(join(root, path))).rejects.toMatchObject({
        code: "home.unusable",
        hint: expect.any(String),
      });
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a read-only file system is refused before anything is started",
    async () => {
      // Root ignores permission bits; /proc refuses new entries to everybody.
      await expect(open("/proc/nightshift-home")).rejects.toMatchObject({ code: "home.unusable" });
    },
  );

  test.skipIf(process.getuid?.() === 0)("a folder that this user may not write is refused", async () => {
    const root = await tempFolder();
    await open(root);
    await chmod(root, 0o500);

    await expect(open(root)).rejects.toMatchObject({ code: "home.unusable" });
    await chmod(root, 0o700);
  });

  test("an empty token file is refused, since it would let everybody in", async () => {
    const root = await tempFolder();
    await writeFile(join(root, "token"), "");

    await expect(open(root)).rejects.toMatchObject({ code: "home.unusable" });
  });
});

describe("files of a home", () => {
  test("a missing one is undefined, a present one comes with its mode, an unreadable one is a fault", async () => {
    const root = await tempFolder();
    await writeFile(join(root, ".env"), "A=1\n", { mode: 0o640 });

    expect(await readHomeFile(join(root, "none"))).toBeUndefined();
    expect(await readHomeFile(join(root, ".env"))).toEqual({ text: "A=1\n", mode: 0o640 });
    await expect(readHomeFile(root)).rejects.toMatchObject({ code: "home.unusable" });
  });

  test("an atomic write replaces the file whole, sets the mode whatever was there, and leaves no temp file", async () => {
    const root = await tempFolder();
    const path = join(root, "a.txt");
    await writeFile(path, "old", { mode: 0o644 });

    await writeFileAtomic(path, "new 🚀");

    expect(await readFile(path, "utf8")).toBe("new 🚀");
    expect(await modeOf(path)).toBe("600");
    expect(await readdir(root)).toEqual(["a.txt"]);
  });

  test("a write that fails leaves the old bytes and no temp file", async () => {
    const root = await tempFolder();
    await mkdir(join(root, "folder"));
    await writeFile(join(root, "folder", "x"), "");

    await expect(writeFileAtomic(join(root, "folder"), "new")).rejects.toMatchObject({
      code: "home.unusable",
    });
    await expect(writeFileAtomic(join(root, "missing", "x"), "new")).rejects.toMatchObject({
      code: "home.unusable",
    });
    expect(await readdir(root)).toEqual(["folder"]);
  });

  test("creating never replaces: one of many writers wins, the others are told", async () => {
    const path = join(await tempFolder(), "once");

    const answers = await Promise.all(["a", "b", "c", "d"].map((text) => createFileAtomic(path, text)));

    expect(answers.filter(Boolean)).toHaveLength(1);
    expect(await readFile(path, "utf8")).toBe(["a", "b", "c", "d"][answers.indexOf(true)]);
  });
});
