// What a command loads: V8 writes down every script that a process has run, and heavy libraries lie in bundles of their own.

import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { say, startModelServer } from "../support/model-server.ts";
import { tempFolder } from "../support/temp.ts";
import { type CliHome, cliHome } from "./run-cli.ts";

const DIST = join(import.meta.dirname, "../../dist");

/** What only the library holds, and the bundle that it is in. */
const LIBRARIES = [
  ["the model SDK", "model-sdk.cjs", "AI_NoSuchModelError"],
  ["the MCP SDK, for servers", "mcp-server-sdk.cjs", "notifications/initialized"],
  ["the MCP SDK, for clients", "mcp-client-sdk.cjs", "notifications/initialized"],
  ["the HTML library", "html-text.cjs", "decodeEntities"],
] as const;

/** The files of the package, and of node_modules, that a command ran; those of its threads too. */
async function loadedBy(home: CliHome, args: readonly string[]): Promise<string[]> {
  const folder = await tempFolder();
  const ended = await home.run(args, { env: { NODE_V8_COVERAGE: folder } });
  expect(ended.exitCode, ended.stderr).toBe(0);
  const urls = new Set<string>();
  for (const name of await readdir(folder)) {
    const report: { result: { url: string }[] } = JSON.parse(await readFile(join(folder, name), "utf8"));
    for (const { url } of report.result) if (url.startsWith("file:")) urls.add(url);
  }
  return [...urls].map((url) => basename(url)).sort();
}

const DOOR = ["cli.cjs", "load-cli.js", "nightshift.js"];

test("`--version` runs one small file, and `job list` the CLI's bundle alone", async () => {
  const home = await cliHome();
  expect(await loadedBy(home, ["--version"])).toEqual(["nightshift.js"]);
  expect((await loadedBy(home, ["job", "list"])).filter((name) => name.endsWith("js"))).toEqual(DOOR);
});

test("a script job loads no model SDK, no MCP SDK and no HTML library", async () => {
  const home = await cliHome();
  await home.run(["job", "add", "every 1h", "--id", "hi", "--script", "hi.sh"]);
  await home.run(["job", "run", "hi"]);
  const loaded = await loadedBy(home, ["tick"]);
  expect(await home.json("run", "list")).toMatchObject([{ jobId: "hi", state: "succeeded" }]);
  const heavy: readonly string[] = LIBRARIES.map(([, bundle]) => bundle);
  expect(loaded.filter((name) => heavy.includes(name))).toEqual([]);
});

test("an agent loads the model SDK and nothing of the others: the list above can tell", async () => {
  const home = await cliHome();
  const { baseUrl } = await startModelServer([say("Done.")]);
  const model = `{provider: openai-compatible, id: scripted, baseUrl: "${baseUrl}"}`;
  await home.write("config.yaml", `models: {named: {main: ${model}}}\n`);
  const loaded = await loadedBy(home, ["agent", "Do it."]);
  expect(loaded.filter((name) => /sdk|html/.test(name))).toEqual(["model-sdk.cjs"]);
});

test.each(LIBRARIES)("%s is in its own bundle and not in the CLI's", async (_, bundle, mark) => {
  const isIn = async (name: string) => (await readFile(join(DIST, name), "utf8")).includes(mark);
  expect({ own: await isIn(bundle), cli: await isIn("cli.cjs") }).toEqual({ own: true, cli: false });
});
