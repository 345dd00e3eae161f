// What the pages on delivery say people can write.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseHomes } from "../../src/deliver/targets.ts";
import { readConfig } from "../../src/records/config-document.ts";
import { adapters } from "./fixtures.ts";

const DOCS = join(import.meta.dirname, "../../docs");

async function pages(): Promise<[name: string, text: string][]> {
  const groups = (await readdir(join(DOCS, "delivery"))).map((name) => `delivery/${name}`);
  const names = ["delivery.md", ...groups];
  return Promise.all(names.map(async (name) => [name, await readFile(join(DOCS, name), "utf8")]));
}

test("every config on them is accepted, and every home an address of its platform", async () => {
  let count = 0;
  for (const [name, text] of await pages()) {
    for (const [, block = ""] of text.matchAll(/```yaml\n([\s\S]*?)```/g)) {
      const { deliver } = parse(block);
      // A job's targets are a list.
      if (Array.isArray(deliver)) continue;
      const { config } = readConfig(block, { file: name, env: {} });
      parseHomes(config.deliver.homes, adapters());
      count += 1;
    }
  }
  expect(count).toBeGreaterThan(10);
});

test("every platform has a row in the table of guarantees", async () => {
  const [[, text]] = (await pages()) as [[string, string]];
  const table = text.slice(text.indexOf("| Platform | Address |"));
  const missing = [...adapters().keys()].filter((platform) => !table.includes(`\n| \`${platform}\` |`));
  expect(missing).toEqual([]);
});
