// Every rule has a test that names it, and no test names a rule that does not exist.

import { join } from "node:path";
import { expect, test } from "vitest";
import { requirements } from "../requirements.ts";
import { idsIn, testTitles } from "./titles.ts";

const titles = testTitles(join(import.meta.dirname, ".."));
const named = new Set(titles.flatMap(idsIn));

test.each(Object.keys(requirements))("rule %s has a test whose title names it", (id) => {
  expect(named.has(id), `a test title that cites ${id}`).toBe(true);
});

test("a title cites only rules that exist", () => {
  const known = new Set<string>(Object.keys(requirements));
  expect([...named].filter((id) => /^[TDLOSUWG]\d/.test(id) && !known.has(id)).sort()).toEqual([]);
});

test("ids are read from ranges, lists and tables, and from nothing that only looks like one", () => {
  expect(idsIn("L2–L6, T7: any history")).toEqual(["L2", "L3", "L4", "L5", "L6", "L2", "L6", "T7"]);
  expect(idsIn("sha256 of UTF8 text")).toEqual([]);
  expect(titles.length).toBeGreaterThan(300);
});
