// on: {watch: PATH}: real files, real notices; one event for each that came to rest, also over a restart.

import { appendFileSync } from "node:fs";
import { appendFile, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readFilePattern } from "../../../src/app/triggers/file-pattern.ts";
import { tempFolder } from "../../support/temp.ts";
import { triggerHome } from "./home.ts";

/** Short, so that a test is. What it is in is not waited for: files are written in steps far shorter. */
const SETTLE = "300ms";

async function inbox() {
  const folder = join(await tempFolder(), "in");
  await mkdir(folder);
  return { folder, file: (name: string) => join(folder, name) };
}

test("a file that comes is one event when it has come to rest: written in pieces it is one, changed later another, others in the folder are none", async () => {
  const [{ folder, file }, home] = [await inbox(), await triggerHome()];
  await home.job("load", { watch: `${folder}/*.csv`, settle: SETTLE });
  await home.node();

  // Without a pause in which it could come to rest, whatever else this machine does.
  for (const piece of ["a,b\n", "1,2\n", "3,4\n"]) appendFileSync(file("one.csv"), piece);
  await writeFile(file("one.csv.part"), "half");
  await writeFile(file(".hidden.csv"), "half");
  await mkdir(file("folder.csv"));
  const [one] = await home.told("load", 1);

  expect(one).toMatchObject({
    trigger: { kind: "watch", name: `${folder}/*.csv` },
    contentType: "application/json",
    data: { path: file("one.csv"), name: "one.csv", bytes: 12 },
  });
  await appendFile(file("one.csv"), "5,6\n");
  await rename(file("one.csv.part"), file("two.csv"));
  const told = await home.told("load", 3);
  expect(told.map(({ data }) => data as { name: string; bytes: number })).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "one.csv", bytes: 16 }),
      expect.objectContaining({ name: "two.csv", bytes: 4 }),
    ]),
  );
  expect(await home.context.ledger.runs({ jobId: "load", limit: 10 })).toHaveLength(3);
});

test("what changed while no node was up is an event once; what lay there before the job, and what was an event already, is none", async () => {
  const [{ folder, file }, home] = [await inbox(), await triggerHome()];
  // A file that has been there for long, by its times.
  await symlink(process.execPath, file("before"));
  await home.job("take", { watch: `${folder}/`, settle: SETTLE });
  const first = await home.node();
  await writeFile(file("one"), "1");
  await home.told("take", 1);
  await first.stop({ graceMs: 0 });

  await writeFile(file("two"), "22");
  await rm(file("one"));
  await home.node();
  expect((await home.told("take", 2)).at(-1)?.data).toMatchObject({ name: "two", bytes: 2 });
  await writeFile(file("three"), "333");
  const told = await home.told("take", 3);
  expect(told.map(({ data }) => (data as { name: string }).name)).toEqual(["one", "two", "three"]);
});

test.each([
  ["/in/*.csv", "/in", ["a.csv", "b c.csv"], ["a.csv.part", ".a.csv", "a.CSV"]],
  ["/in/part-?.json", "/in", ["part-1.json"], ["part-12.json", "part-.json"]],
  ["/in/", "/in", ["anything", "a.csv"], [".part"]],
  ["/in/a+b(1).txt", "/in", ["a+b(1).txt"], ["aab1.txt"]],
  ["~/in/.env*", "/home/me/in", [".env", ".env.local"], ["env"]],
])("%s means files in %s", (pattern, folder, meant, others) => {
  const read = readFilePattern(pattern, "/home/me/");
  expect(read.folder).toBe(folder);
  expect([...meant, ...others].filter(read.accepts)).toEqual(meant);
});
