import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/records/config-document.ts";
import { configSchema } from "../../src/records/config-schema.ts";
import { parseJobDocument } from "../../src/records/job-document.ts";
import { jobSchema } from "../../src/records/job-schema.ts";

const page = (name: string) => readFile(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
const blocks = (text: string) =>
  [...text.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map((match) => match[1] ?? "")
    .filter((block) => /^\w/m.test(block));

describe("the pages on documents", () => {
  test("every job in docs/jobs.md is one that is accepted, without a warning", async () => {
    const jobs = blocks(await page("jobs"));

    expect(jobs.length).toBeGreaterThan(0);
    for (const text of jobs)
      expect(parseJobDocument(text, { file: "docs/jobs.md", defaultId: "x" }).warnings).toEqual([]);
  });

  test("the config in docs/config.md is accepted", async () => {
    for (const text of blocks(await page("config")))
      expect(readConfig(text, { file: "docs/config.md", env: {} }).config.deliver.webhooks.ops).toBeDefined();
  });

  test("every key a document may have is named on its page", async () => {
    const [jobs, config] = [await page("jobs"), await page("config")];

    expect(Object.keys(jobSchema.shape).filter((key) => !jobs.includes(`\`${key}\``))).toEqual([]);
    expect(
      Object.keys(configSchema().shape).filter((key) => !new RegExp(`^${key}:|\`${key}\``, "m").test(config)),
    ).toEqual([]);
  });
});
