// Which files leave a home, and how long they are kept: real folders, real links.

import { mkdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeRedact } from "../../src/kernel/redact.ts";
import { HOUR } from "../../src/kernel/time.ts";
import { openMediaFiles } from "../../src/store/files/media-files.ts";
import { tempFolder } from "../support/temp.ts";

const RUN = "01kb7c3v5m8q2n4r6t8w0y2z4a";

/** A home with a workspace and something outside of it. */
async function room(maxBytes = 1_000) {
  const root = await tempFolder();
  const cwd = join(root, "workspaces", RUN);
  await mkdir(join(cwd, "plots"), { recursive: true });
  await mkdir(join(cwd, ".git"));
  await writeFile(join(root, "secret.txt"), "outside");
  await writeFile(join(cwd, "a.png"), "pixels");
  await writeFile(join(cwd, "plots/b.csv"), "1,2");
  await writeFile(join(cwd, ".env"), "KEY=1");
  await writeFile(join(cwd, ".git/config"), "x");
  await writeFile(join(cwd, "empty"), "");
  await writeFile(join(cwd, "big"), "x".repeat(1_001));
  await symlink(join(root, "secret.txt"), join(cwd, "link.txt"));
  await symlink("plots", join(cwd, "same"));
  await symlink("/", join(cwd, "root"));
  const files = openMediaFiles({ root, maxBytes });
  const find = (path: string) => files.find(path, { cwd, folders: [cwd] });
  return { root, cwd, files, find };
}

describe("files that go out with a message", () => {
  test.each(["a.png", "./plots/../a.png", "plots/b.csv", "same/b.csv"])("found: %s", async (path) => {
    expect(await (await room()).find(path)).toHaveProperty("bytes");
  });

  test("an absolute path counts as long as it leads inside", async () => {
    const { cwd, find } = await room();
    expect(await find(join(cwd, "a.png"))).toHaveProperty("bytes");
  });

  test.each([
    ["../../secret.txt", "outside"],
    ["link.txt", "outside"],
    ["root/etc/passwd", "outside"],
    ["/etc/passwd", "outside"],
    [".env", "hidden"],
    [".git/config", "hidden"],
    [".", "outside"],
    ["plots", "no file"],
    ["none.png", "no such file"],
    ["a.png\0.txt", "no path"],
    ["empty", "empty"],
    ["big", "at most 1 kB"],
  ])("law 7: %s is not sent (%s)", async (path, why) => {
    expect(await (await room()).find(path)).toEqual({ why: expect.stringContaining(why) });
  });

  test("it is kept whole and private, under a name that harms nobody; a text without its secrets", async () => {
    const { root, files } = await room();
    const redact = makeRedact(["s3cr3t-s3cr3t"]);

    const kept = await files.keep(
      { path: 'out/a"b\n.txt', caption: "x" },
      Buffer.from("key: s3cr3t-s3cr3t"),
      { runId: RUN, index: 2, redact },
    );

    expect(kept).toMatchObject({
      file: `output/_media/${RUN}/2-a_b_.txt`,
      name: "a_b_.txt",
      kind: "file",
      caption: "x",
    });
    const path = join(root, kept.file);
    expect(await readFile(path, "utf8")).not.toContain("s3cr3t-s3cr3t");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(path)).size).toBe(kept.bytes);
  });

  test("bytes that are no text stay as they are, whatever the name says", async () => {
    const { root, files } = await room();
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x41]);
    const kept = await files.keep({ path: "a.txt" }, bytes, { runId: RUN, index: 0, redact: () => "no" });
    expect(await readFile(join(root, kept.file))).toEqual(bytes);
  });

  test("U2: what no row names goes after an hour, and its folder with it; the rest stays", async () => {
    const { root, files } = await room();
    const of = { runId: RUN, redact: (text: string) => text };
    const named = await files.keep({ path: "a.png" }, Buffer.from("1"), { ...of, index: 0 });
    const lost = await files.keep({ path: "b.png" }, Buffer.from("2"), { ...of, index: 1 });
    const fresh = await files.keep({ path: "c.png" }, Buffer.from("3"), { ...of, index: 2 });
    const now = Date.now();
    const old = (now - 2 * HOUR) / 1_000;
    for (const { file } of [named, lost]) await utimes(join(root, file), old, old);

    expect(await files.sweep(async () => new Set([named.file]), now)).toEqual([lost.file]);
    expect(await files.sweep(async () => new Set(), now + 2 * HOUR)).toEqual([named.file, fresh.file]);
    await expect(stat(join(root, "output/_media", RUN))).rejects.toThrow("ENOENT");
  });
});
