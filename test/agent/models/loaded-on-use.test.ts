// Heavy packages load when their work begins, and never before: what only schedules and runs scripts does not pay for them.

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { cliHome } from "../../cli/run-cli.ts";
import { tempFolder } from "../../support/temp.ts";

const DIST = join(import.meta.dirname, "../../../dist");
const HEAVY = /(model|mcp)[a-z-]*sdk|html-(to-)?text|@ai-sdk|modelcontextprotocol/;

/** Writes the names of all modules a process has loaded, when it ends. */
async function tracer() {
  const folder = await tempFolder();
  const out = join(folder, "loaded");
  const file = join(folder, "trace.cjs");
  await writeFile(
    file,
    `process.on("exit", () => require("fs").appendFileSync(${JSON.stringify(out)}, Object.keys(require.cache).join("\\n") + "\\n"));`,
  );
  return {
    env: { NODE_OPTIONS: `--require=${file}` },
    loaded: async () => (await readFile(out, "utf8")).split("\n").filter((name) => name !== ""),
  };
}

describe("the model and MCP packages stay unloaded", () => {
  test.each<[string, ...string[][]]>([
    ["--version", ["--version"]],
    ["job list", ["job", "list"]],
    [
      "a script job, added and run here",
      ["job", "add", "every 5m", "--script", "hi.sh", "--name", "hi"],
      ["job", "run", "hi", "--here"],
    ],
  ])("for %s", async (_name, ...commands) => {
    const home = await cliHome();
    const { env, loaded } = await tracer();
    for (const command of commands) {
      const { exitCode, stderr } = await home.run(command, { env });
      expect(exitCode, stderr).toBe(0);
    }
    const names = await loaded();
    expect(names.some((name) => name.endsWith("bin/nightshift.js"))).toBe(true);
    expect(names.filter((name) => HEAVY.test(name))).toEqual([]);
  });

  test("and the trace would see them", async () => {
    const { env, loaded } = await tracer();
    const load = `require(${JSON.stringify(join(DIST, "model-sdk.cjs"))}).createOpenAI({ apiKey: "x" })("y")`;
    await promisify(execFile)(process.execPath, ["-e", load], { env: { ...process.env, ...env } });
    expect((await loaded()).filter((name) => HEAVY.test(name))).toHaveLength(1);
  });
});
