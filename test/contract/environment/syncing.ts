// The contract's section on files that travel: a folder here made the same inside, and what changed brought back.

import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FolderSync } from "../../../src/execute/environments/sync-files.ts";
import { tempFolder } from "../../support/temp.ts";
import { exec, never, said } from "./asking.ts";
import type { Bench } from "./contract.ts";

const LONG = `${"deep/".repeat(30)}a name that is longer than a header of tar has room for.txt`;

/** Declares it for places that have files of their own. */
export function syncRules(get: () => Bench): void {
  async function opened(files: Record<string, string> = {}) {
    const { environment } = get();
    const here = await tempFolder();
    const inside = `${environment.ownFolder}/sync-${here.slice(-6)}`;
    await exec(environment, `mkdir -p '${inside}'`);
    const write = async (name: string, text: string) => {
      await mkdir(join(here, name, ".."), { recursive: true });
      await writeFile(join(here, name), text);
    };
    for (const [name, text] of Object.entries(files)) await write(name, text);
    const sync = new FolderSync(environment, { here, inside });
    const there = (command: string) => said(environment, command, { cwd: inside });
    return { here, sync, write, there };
  }

  test("sync: files, modes, links and odd names arrive; .env and config.yaml never do", async () => {
    const { here, sync, there } = await opened({
      "a.txt": "a",
      "sub/run.sh": "#!/bin/sh\necho ran",
      "-dash 'quote' 夜.txt": "odd",
      [LONG]: "long",
      ".env": "SECRET=1",
      "sub/.env": "SECRET=2",
      "config.yaml": "secret",
    });
    await chmod(join(here, "sub/run.sh"), 0o750);
    await symlink("sub/run.sh", join(here, "link"));

    const report = await sync.bringIn({ signal: never });

    expect(report.written.sort()).toEqual(
      ["-dash 'quote' 夜.txt", LONG, "a.txt", "link", "sub/run.sh"].sort(),
    );
    expect(
      await there(
        "./sub/run.sh; readlink link; cat ./-dash*; cat deep/deep/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/a*",
      ),
    ).toBe("ran\nsub/run.sh\noddlong");
    expect(await there("find . -name .env -o -name config.yaml")).toBe("");
    expect((await sync.bringIn({ signal: never })).written).toEqual([]);
  });

  test("hermes#84402: only what changed travels again; what was deleted here goes there, and nothing else does", async () => {
    const { here, sync, write, there } = await opened({ "a.txt": "a", "b.txt": "b", "c/d.txt": "d" });
    await sync.bringIn({ signal: never });
    await there("echo theirs >own.txt");
    await write("a.txt", "changed");
    await rm(join(here, "c/d.txt"));

    expect(await sync.bringIn({ signal: never })).toEqual({
      written: ["a.txt"],
      deleted: ["c/d.txt"],
      skipped: [],
    });
    expect(await there("find . -type f | sort; cat a.txt")).toBe("./a.txt\n./b.txt\n./own.txt\nchanged");
  });

  test("back: what commands changed, made and deleted comes back; a touched file is not written", async () => {
    const { here, sync, there } = await opened({ "a.txt": "a", "b.txt": "b", "same.txt": "same" });
    await utimes(join(here, "same.txt"), 1_000, 1_000);
    await sync.bringIn({ signal: never });
    await there(
      "echo new >a.txt; rm b.txt; mkdir -p out; printf '\\377\\000' >out/bytes; chmod 755 out/bytes; touch same.txt; ln -s ../a.txt out/link",
    );

    const report = await sync.bringBack({ signal: never });

    expect({ ...report, written: report.written.sort() }).toEqual({
      written: ["a.txt", "out/bytes", "out/link"],
      deleted: ["b.txt"],
      skipped: [],
    });
    expect([...(await readFile(join(here, "out/bytes")))]).toEqual([255, 0]);
    expect((await lstat(join(here, "out/bytes"))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(here, "out/link"))).toBe("../a.txt");
    expect((await lstat(join(here, "same.txt"))).mtimeMs).toBe(1_000_000);
  });

  test("back: what was changed on both sides stays as it is here, and is named", async () => {
    const { here, sync, write, there } = await opened({ "a.txt": "a", "b.txt": "b" });
    await sync.bringIn({ signal: never });
    await there("echo theirs >a.txt; rm b.txt");
    await write("a.txt", "mine, longer");
    await write("b.txt", "mine, longer");

    const report = await sync.bringBack({ signal: never });

    expect(report.written).toEqual([]);
    expect(report.skipped.map(({ path }) => path).sort()).toEqual(["a.txt", "b.txt"]);
    expect(await readFile(join(here, "a.txt"), "utf8")).toBe("mine, longer");
    expect(await readFile(join(here, "b.txt"), "utf8")).toBe("mine, longer");
  });

  test("back: nothing lands outside, through a link, or under an excluded name, and no more than the cap", async () => {
    const outside = await tempFolder();
    const { here, sync, there } = await opened({ "a.txt": "a" });
    await symlink(outside, join(here, "elsewhere"));
    await sync.bringIn({ signal: never });
    await there(
      "rm elsewhere; mkdir elsewhere; echo x >elsewhere/planted; ln -s /etc/passwd abs; ln -s ../../up up; echo S=1 >.env; echo s >config.yaml; head -c 3000 /dev/zero >big",
    );

    const report = await sync.bringBack({ signal: never, maxBackBytes: 2_000 });

    expect(report.written).toEqual([]);
    expect(Object.fromEntries(report.skipped.map(({ path, why }) => [path, why]))).toMatchObject({
      abs: "its link leads out of the folder",
      up: "its link leads out of the folder",
      big: "it is more than may be brought back",
    });
    expect(await lstat(join(outside, "planted")).catch(() => "absent")).toBe("absent");
    for (const name of [".env", "config.yaml", "up", "abs"])
      expect(await lstat(join(here, name)).catch(() => "absent")).toBe("absent");
  });
}
