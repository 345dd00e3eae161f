import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { HOUR } from "../../src/kernel/time.ts";
import { type OutputRecord, openOutputFiles } from "../../src/store/files/output-files.ts";
import { tempFolder } from "../support/temp.ts";

const SLOT = Date.parse("2026-11-29T06:00:00Z");
const RECORD: OutputRecord = {
  jobId: "disk-watch",
  runId: "01kb7c3v5m8q2n4r6t8w0y2z4a",
  slot: SLOT,
  createdAt: SLOT + 5,
  state: "failed",
  reason: "exit: 3 # not a comment",
  startedAt: SLOT + 10,
  finishedAt: SLOT + 1_510,
  exitCode: 3,
  isTruncated: true,
  body: "92 % full\n---\n🚀\n",
};

async function archive() {
  const root = await tempFolder();
  await mkdir(join(root, "output"));
  return { root, output: openOutputFiles(root) };
}
async function age(path: string, ms: number): Promise<void> {
  const at = (Date.now() - ms) / 1_000;
  await utimes(path, at, at);
}

describe("the output archive", () => {
  test("U2: a run's output is one file, 0600, with front matter above its body", async () => {
    const { root, output } = await archive();

    const file = await output.write(RECORD);

    expect(file).toBe("output/disk-watch/20261129T060000Z-01kb7c3v5m8q2n4r6t8w0y2z4a.md");
    expect(await readFile(join(root, file), "utf8")).toBe(`---
job: disk-watch
run: 01kb7c3v5m8q2n4r6t8w0y2z4a
slot: 2026-11-29T06:00:00Z
state: failed
reason: "exit: 3 # not a comment"
started: 2026-11-29T06:00:00.010Z
finished: 2026-11-29T06:00:01.510Z
durationMs: 1500
exitCode: 3
truncated: true
---
92 % full
---
🚀
`);
    expect((await stat(join(root, file))).mode & 0o777).toBe(0o600);
    expect(await output.read(file)).toContain("92 % full");
  });

  test("U2: a run by hand is named by its creation; what is unknown is left out", async () => {
    const { output } = await archive();

    const file = await output.write({
      jobId: "a",
      runId: "r1",
      slot: undefined,
      createdAt: SLOT,
      state: "succeeded",
      body: "",
    });

    expect(file).toBe("output/a/20261129T060000Z-r1.md");
    expect(await output.read(file)).toBe("---\njob: a\nrun: r1\nstate: succeeded\n---\n");
  });

  test("U2: after an hour a file that no row names is swept, half-written ones included; named, fresh and foreign ones stay", async () => {
    const { root, output } = await archive();
    const named = await output.write({ ...RECORD, runId: "named" });
    const orphan = await output.write({ ...RECORD, runId: "orphan" });
    const fresh = await output.write({ ...RECORD, runId: "fresh" });
    const half = "output/disk-watch/.x.md.12-1.tmp";
    await writeFile(join(root, half), "");
    const foreign = ["output/_alerts/20261129T060000Z-a.md", "output/disk-watch/notes.md"];
    await mkdir(join(root, "output", "_alerts"));
    for (const file of foreign) await writeFile(join(root, file), "");
    for (const file of [named, orphan, half, ...foreign]) await age(join(root, file), HOUR + 1_000);
    const asked: string[][] = [];

    const swept = await output.sweep(async (files) => {
      asked.push([...files]);
      return new Set([named]);
    }, Date.now());

    expect(swept.sort()).toEqual([half, orphan].sort());
    expect(asked).toEqual([expect.not.arrayContaining([fresh])]);
    expect(await readdir(join(root, "output", "disk-watch"))).toHaveLength(3);
    expect(await readdir(join(root, "output", "_alerts"))).toHaveLength(1);
  });

  test("L8: the newest files of a job are kept, the rest go", async () => {
    const { output } = await archive();
    const files: string[] = [];
    for (let hour = 0; hour < 5; hour++)
      files.push(await output.write({ ...RECORD, slot: SLOT + hour * HOUR }));

    expect(await output.keepNewest("disk-watch", 2)).toEqual(files.slice(0, 3));
    expect(await output.read(files[0]!)).toBeUndefined();
    expect(await output.read(files[4]!)).toContain("job: disk-watch");
    expect(await output.keepNewest("disk-watch")).toEqual([]);
    expect(await output.keepNewest("never-ran")).toEqual([]);
  });

  test.each([
    "output/../token",
    "token",
    "output/a/../../token",
    "/etc/passwd",
    "output/a/b/c.md",
    "output/./x.md",
  ])("the path %s is refused", async (file) => {
    const { output } = await archive();

    await expect(output.read(file)).rejects.toMatchObject({ code: "input.refused" });
    await expect(output.remove([file])).rejects.toMatchObject({ code: "input.refused" });
  });

  test("an id that would leave the folder is refused", async () => {
    const { output } = await archive();

    await expect(output.write({ ...RECORD, jobId: "../x" })).rejects.toMatchObject({ code: "input.refused" });
  });

  test("what lies beside an output is private, is swept with it and removed with it", async () => {
    const { root, output } = await archive();
    const kept = await output.write(RECORD);
    const beside = await output.writeBeside(RECORD, "trajectory", '{"conversations":[]}\n');
    const orphan = await output.writeBeside(
      { ...RECORD, runId: "01kb7c3v5m8q2n4r6t8w0y2z4b" },
      "cassette",
      "{}\n",
    );
    for (const file of [kept, beside, orphan]) await age(join(root, file), 2 * HOUR);

    expect((await stat(join(root, beside))).mode & 0o777).toBe(0o600);
    expect(await output.readBeside(kept, "trajectory")).toBe('{"conversations":[]}\n');
    expect(await output.readBeside(kept, "cassette")).toBeUndefined();
    expect(
      await output.sweep(async (files) => new Set(files.filter((file) => file === kept)), Date.now()),
    ).toEqual([orphan]);
    await output.remove([kept]);
    expect(await readdir(join(root, "output", "disk-watch"))).toEqual([]);
  });
});
