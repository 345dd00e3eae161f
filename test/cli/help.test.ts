// Every command explains itself, and the page docs/cli.md names it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../src/cli/commands/index.ts";
import { cliHome } from "./run-cli.ts";

test.each(commands.map((spec) => [spec.path, spec] as const))(
  "docs/cli.md describes `%s` and every option it has",
  async (path, spec) => {
    const page = await readFile(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
    const start = page.indexOf(`### \`${path}`);
    expect(start, `a heading \`### \`${path}\`\``).toBeGreaterThan(-1);
    const end = page.indexOf("\n### ", start + 1);
    const section = page.slice(start, end < 0 ? undefined : end);
    const flags = (spec.options ?? []).map(([flag]) => /--[a-z-]+/.exec(flag)?.[0] ?? flag);
    expect(flags.filter((flag) => !section.includes(flag) && !isFieldOption(page, path, flag))).toEqual([]);
  },
);

/** What `job add` and `job update` share is told once, under "Keys of a job as options". */
function isFieldOption(page: string, path: string, flag: string): boolean {
  const start = page.indexOf("### Keys of a job as options");
  const shared = page.slice(start, page.indexOf("\n### ", start + 1));
  return ["job add", "job update"].includes(path) && start > -1 && shared.includes(flag);
}

test("U1: --help of every command exits with 0 and says what the command is for", async () => {
  const home = await cliHome();
  for (let index = 0; index < commands.length; index += 6) {
    await Promise.all(
      commands.slice(index, index + 6).map(async ({ path, summary }) => {
        const { exitCode, stdout, stderr } = await home.run([...path.split(" "), "--help"]);
        expect([path, exitCode, stderr]).toEqual([path, 0, ""]);
        expect(stdout).toContain(`Usage: nightshift ${path}`);
        expect(stdout.replace(/\s+/g, " ")).toContain(summary.replace(/\s+/g, " "));
      }),
    );
  }
});
