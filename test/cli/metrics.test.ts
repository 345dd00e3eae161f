// `metrics` in its forms, and `logs` over a log that was turned over.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cliHome } from "./run-cli.ts";

test("metrics for people, programs and Prometheus; metrics dump tells the store; what does not go together is refused", async () => {
  const home = await cliHome();
  const [text, prometheus, dump, both] = await Promise.all([
    home.run(["metrics"]),
    home.run(["metrics", "--prometheus"]),
    home.run(["metrics", "dump"]),
    home.run(["metrics", "dump", "--prometheus"]),
  ]);

  expect(text.stdout).toMatch(/^nodes up {4}0, with 0 live runs$/m);
  expect(prometheus.stdout).toContain("# TYPE nightshift_queue_waiting gauge");
  expect(dump.stdout).toMatch(/^store sqlite, \d/);
  expect(dump.stdout).toMatch(/^runs +0 /m);
  expect(both).toMatchObject({ exitCode: 2, stdout: "" });
});

test("logs --tail reads on in the file before, and --level in both", async () => {
  const home = await cliHome();
  const folder = join(home.path, "logs");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const line = (level: string, event: string) =>
    `${JSON.stringify({ at: "2026-11-30T00:00:00Z", level, event })}\n`;
  await writeFile(join(folder, "nightshift.log.1"), line("warn", "one") + line("info", "two"));
  await writeFile(join(folder, "nightshift.log"), line("info", "three") + line("error", "four"));

  const last = await home.run(["logs", "--tail", "3"]);
  const warned = await home.run(["logs", "--level", "warn"]);

  expect(last.stdout.match(/one|two|three|four/g)).toEqual(["two", "three", "four"]);
  expect(warned.stdout.match(/one|two|three|four/g)).toEqual(["one", "four"]);
});
