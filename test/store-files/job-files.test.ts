import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { HOUR } from "../../src/kernel/time.ts";
import { digestOf } from "../../src/store/files/definition-text.ts";
import { openJobFiles } from "../../src/store/files/job-files.ts";
import { manualClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";

/** The clock stands where real mtimes are about an hour old, unless a test writes at the clock's own time. */
async function folder() {
  const root = await tempFolder();
  const jobsFolder = join(root, "jobs");
  await mkdir(jobsFolder);
  const clock = manualClock(Math.floor(Date.now() / 1_000) * 1_000 + HOUR);
  const files = openJobFiles({ jobsFolder, trashFolder: join(jobsFolder, ".trash") }, { clock });
  const at = (name: string) => join(jobsFolder, name);
  const put = (name: string, text: string | Uint8Array) => writeFile(at(name), text);
  /** As if the file had been saved just now by the clock. */
  const putFresh = async (name: string, text: string) => {
    await put(name, text);
    await utimes(at(name), clock.now() / 1_000, clock.now() / 1_000);
  };
  return { root, jobsFolder, clock, files, at, put, putFresh };
}

describe("listing job files", () => {
  test("D2: .yaml and .yml count; dotfiles, editors' leavings and other files do not", async () => {
    const { files, put, jobsFolder } = await folder();
    for (const name of [
      "a.yaml",
      "b.yml",
      ".c.yaml",
      "d.yaml~",
      ".e.yaml.swp",
      "#f.yaml#",
      "notes.txt",
      "g.YAML",
      "~h.yaml",
    ])
      await put(name, "run: a.sh\n");
    await mkdir(join(jobsFolder, ".trash"));

    const { entries, unreadable, isReadable } = await files.list();

    expect(entries.map((entry) => entry.source)).toEqual(["jobs/a.yaml", "jobs/b.yml", "jobs/g.YAML"]);
    expect(entries[0]).toEqual({
      source: "jobs/a.yaml",
      defaultId: "a",
      text: "run: a.sh\n",
      digest: digestOf("run: a.sh\n"),
    });
    expect({ isReadable, unreadable }).toEqual({ isReadable: true, unreadable: [] });
  });

  test("D2: a file counts once size and mtime have been stable for a second; until then it is neither there nor missing", async () => {
    const { files, putFresh, clock } = await folder();
    await putFresh("a.yaml", "run: a");

    expect(await files.list()).toMatchObject({
      entries: [],
      unsettled: ["jobs/a.yaml"],
      settlesAt: clock.now() + 1_000,
    });
    await clock.advance(500);
    await putFresh("a.yaml", "run: a.sh\n");
    expect(await files.list()).toMatchObject({ entries: [], settlesAt: clock.now() + 1_000 });
    await clock.advance(999);
    expect(await files.list()).toMatchObject({ entries: [], settlesAt: clock.now() + 1 });
    await clock.advance(1);
    expect(await files.list()).toMatchObject({
      entries: [{ text: "run: a.sh\n" }],
      unsettled: [],
      settlesAt: undefined,
    });
  });

  test("D2: a file from the future counts after a second of rest, also when the wall clock steps back", async () => {
    const { files, putFresh, clock } = await folder();
    await putFresh("a.yaml", "run: a.sh\n");
    clock.step(-HOUR / 2);

    expect((await files.list()).unsettled).toEqual(["jobs/a.yaml"]);
    await clock.advance(1_000);
    expect((await files.list()).entries).toHaveLength(1);
  });

  test("a change of a listed file is seen, one of the same size within its rest time included", async () => {
    const { files, put, putFresh, clock } = await folder();
    await put("a.yaml", "run: a.sh\n");
    await files.list();

    await putFresh("a.yaml", "run: b.sh\n");

    expect((await files.list()).entries).toEqual([]);
    await clock.advance(1_000);
    expect((await files.list()).entries[0]?.text).toBe("run: b.sh\n");
  });

  test("what cannot be read is reported with the reason, the others go on, and no byte is touched", async () => {
    const { files, put, at, jobsFolder } = await folder();
    await put("good.yaml", "run: a.sh\n");
    await put("latin.yaml", Uint8Array.from([0x72, 0xfc, 0x6e]));
    await put("binary.yaml", Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]));
    await put("large.yaml", "#".repeat(1_000_001));
    await mkdir(at("folder.yaml"));
    await symlink(join(jobsFolder, "nowhere"), at("dangling.yaml"));

    const { entries, unreadable } = await files.list();

    expect(entries.map((entry) => entry.source)).toEqual(["jobs/good.yaml"]);
    expect(unreadable).toEqual([
      { source: "jobs/binary.yaml", defaultId: "binary", error: "it holds NUL bytes, so it is no text" },
      { source: "jobs/dangling.yaml", defaultId: "dangling", error: "it is a link that leads nowhere" },
      { source: "jobs/folder.yaml", defaultId: "folder", error: "it is not a file" },
      { source: "jobs/large.yaml", defaultId: "large", error: "it is larger than 1000000 bytes" },
      { source: "jobs/latin.yaml", defaultId: "latin", error: "it is not UTF-8 text" },
    ]);
    expect([...(await readFile(at("latin.yaml")))]).toEqual([0x72, 0xfc, 0x6e]);
    await expect(files.read("jobs/latin.yaml")).rejects.toMatchObject({ code: "job.unreadable" });
  });

  test("D2: a folder that cannot be read says so, instead of looking empty", async () => {
    const { files, jobsFolder, put } = await folder();
    await put("a.yaml", "run: a.sh\n");
    await rename(jobsFolder, `${jobsFolder}-away`);

    expect(await files.list()).toMatchObject({ isReadable: false, entries: [] });
    await rename(`${jobsFolder}-away`, jobsFolder);
    expect((await files.list()).entries).toHaveLength(1);
  });

  test("a byte-order mark, CRLF and emoji stay in the text, since the digest is of the bytes", async () => {
    const { files, put } = await folder();
    const text = "\uFEFFname: 🚀\r\nrun: a.sh\r\n";
    await put("a.yaml", text);

    expect((await files.list()).entries[0]).toMatchObject({ text, digest: digestOf(Buffer.from(text)) });
  });

  test("a thousand files are listed again in a fraction of a second, without being read again", async () => {
    const { files, put } = await folder();
    for (let index = 0; index < 1_000; index++) await put(`job-${index}.yaml`, `run: s${index}.sh\n`);
    const first = await files.list();
    const start = performance.now();

    const second = await files.list();

    expect(performance.now() - start).toBeLessThan(500);
    expect(second.entries).toHaveLength(1_000);
    // The same objects: nothing was read anew.
    expect(second.entries.every((entry, index) => entry === first.entries[index])).toBe(true);
  });
});

describe("writing job files", () => {
  test("D3: a new file must not exist yet, a change must meet the digest it was made from", async () => {
    const { files, at } = await folder();

    const written = await files.write("jobs/a.yaml", "run: a.sh\n", undefined);

    expect(written).toEqual({ kind: "written", digest: digestOf("run: a.sh\n") });
    expect(await files.write("jobs/a.yaml", "x", undefined)).toEqual({
      kind: "conflict",
      actualDigest: digestOf("run: a.sh\n"),
    });
    expect(await files.write("jobs/a.yaml", "x", "stale")).toMatchObject({ kind: "conflict" });
    expect(await readFile(at("a.yaml"), "utf8")).toBe("run: a.sh\n");
    expect(await files.write("jobs/a.yaml", "run: b.sh\n", digestOf("run: a.sh\n"))).toMatchObject({
      kind: "written",
    });
    expect((await stat(at("a.yaml"))).mode & 0o777).toBe(0o600);
    expect(await files.write("jobs/gone.yaml", "x", digestOf("y"))).toEqual({
      kind: "conflict",
      actualDigest: undefined,
    });
  });

  test("what this process wrote counts at once", async () => {
    const { files, at, clock } = await folder();
    clock.step(-HOUR);

    await files.write("jobs/a.yaml", "run: a.sh\n", undefined);

    expect((await files.list()).entries).toEqual([await files.read("jobs/a.yaml")]);
    expect(Math.abs((await stat(at("a.yaml"))).mtimeMs - clock.now())).toBeLessThan(60_000);
  });

  test("a link stays a link and a person's mode stays theirs", async () => {
    const { files, at, root } = await folder();
    await writeFile(join(root, "real.yaml"), "run: a.sh\n");
    await chmod(join(root, "real.yaml"), 0o640);
    await symlink(join(root, "real.yaml"), at("a.yaml"));

    await files.write("jobs/a.yaml", "run: b.sh\n", digestOf("run: a.sh\n"));

    expect((await lstat(at("a.yaml"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(root, "real.yaml"), "utf8")).toBe("run: b.sh\n");
    expect((await stat(join(root, "real.yaml"))).mode & 0o777).toBe(0o640);
  });

  test("D3: a removed file keeps its bytes in .trash, twice in a second as well", async () => {
    const { files, jobsFolder, at, put } = await folder();
    const digest = digestOf("run: a.sh\n");
    const kept: string[] = [];
    for (let time = 0; time < 2; time++) {
      await put("a.yaml", "run: a.sh\n");
      const answer = await files.remove("jobs/a.yaml", digest);
      if (answer.kind === "removed") kept.push(answer.keptAt);
    }

    expect(kept).toEqual([
      expect.stringMatching(/^jobs\/\.trash\/\d{8}T\d{6}Z-a\.yaml$/),
      expect.stringMatching(/^jobs\/\.trash\/\d{8}T\d{6}Z-2-a\.yaml$/),
    ]);
    expect(await readFile(join(jobsFolder, "..", kept[1]!), "utf8")).toBe("run: a.sh\n");
    await expect(stat(at("a.yaml"))).rejects.toMatchObject({ code: "ENOENT" });
    expect((await files.list()).entries).toEqual([]);
  });

  test("D3: a removal that lost the compare changes nothing", async () => {
    const { files, put, at } = await folder();
    await put("a.yaml", "run: edited.sh\n");

    expect(await files.remove("jobs/a.yaml", digestOf("run: a.sh\n"))).toEqual({ kind: "conflict" });
    expect(await readFile(at("a.yaml"), "utf8")).toBe("run: edited.sh\n");
  });

  test.each(["jobs/../token.yaml", "token", "jobs/a/b.yaml", "table/x", "jobs/.trash", "jobs/a.txt"])(
    "the source %s is refused",
    async (source) => {
      const { files } = await folder();

      await expect(files.write(source, "x", undefined)).rejects.toMatchObject({ code: "input.refused" });
      await expect(files.read(source)).rejects.toMatchObject({ code: "input.refused" });
    },
  );
});

describe("watching job files", () => {
  test("a saved file wakes the listener; nothing does after the end", async () => {
    const { files, put, clock, jobsFolder } = await folder();
    let calls = 0;
    let wake = () => {};
    const called = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const stop = files.watch(() => {
      calls++;
      wake();
    });
    onTestFinished(stop);
    await clock.whenSleeping();

    await put("a.yaml", "run: a.sh\n");
    await called;
    stop();
    const before = calls;
    await put("b.yaml", "run: a.sh\n");
    await readdir(jobsFolder);

    expect(before).toBeGreaterThan(0);
    expect(calls).toBe(before);
    expect(clock.sleeping()).toBe(0);
  });

  test("a folder that was replaced is found by the slow look and watched again", async () => {
    const { files, jobsFolder, clock, put } = await folder();
    const calls: (() => void)[] = [];
    const nextCall = () => new Promise<void>((resolve) => void calls.push(resolve));
    const stop = files.watch(() => {
      for (const resolve of calls.splice(0)) resolve();
    });
    onTestFinished(stop);
    await clock.whenSleeping();
    await rm(jobsFolder, { recursive: true });
    await mkdir(jobsFolder);

    const found = nextCall();
    await clock.advance(60_000);
    await found;
    await clock.whenSleeping();
    const noticed = nextCall();
    await put("a.yaml", "run: a.sh\n");
    await noticed;

    expect((await files.list()).entries).toHaveLength(1);
  });
});
