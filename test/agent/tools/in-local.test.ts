// The terminal and files tools in the real local environment, its session included.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeListFolderTool } from "../../../src/agent/tools/list-folder.ts";
import { makePatchFileTool } from "../../../src/agent/tools/patch-file.ts";
import { makeReadFileTool } from "../../../src/agent/tools/read-file.ts";
import { makeSearchFilesTool } from "../../../src/agent/tools/search-files.ts";
import { makeTerminalTool } from "../../../src/agent/tools/terminal.ts";
import { makeWriteFileTool } from "../../../src/agent/tools/write-file.ts";
import { openLocal } from "../../../src/execute/environments/local.ts";
import { contractDeps } from "../../contract/environment/local-harness.ts";
import { tempFolder } from "../../support/temp.ts";
import { call } from "./room.ts";

async function room() {
  const folder = await tempFolder();
  const environment = await openLocal(contractDeps(folder));
  onTestFinished(async () => void (await environment.dispose()));
  const files = { environment, guardPath: () => undefined };
  return {
    cwd: environment.cwd,
    terminal: makeTerminalTool({ environment }),
    read: makeReadFileTool(files),
    write: makeWriteFileTool(files),
    patch: makePatchFileTool(files),
    search: makeSearchFilesTool(files),
    list: makeListFolderTool(files),
  };
}

test("the session moves with `cd`, and the file tools neither move it nor move with it", async () => {
  const { cwd, terminal, read, write, search, list } = await room();

  await call(write, { path: "logs/app.log", content: "ok\nerror 7\n" });
  expect(await call(terminal, { command: "cd logs && export WHO=ada" })).toMatchObject({
    cwd: join(cwd, "logs"),
  });

  expect(await call(search, { pattern: "error \\d", path: "." })).toMatchObject({
    error: null,
    results: ["logs/app.log:2: error 7"],
  });
  expect((await call(search, { pattern: "(" })).error).toMatch(/cannot be read/);
  expect((await call(search, { name: "*", path: "gone" })).error).toMatch(/does not exist/);
  expect(await call(list, { path: "logs" })).toMatchObject({ entries: ["app.log"] });
  expect(await call(read, { path: "logs/app.log", offset: -1 })).toMatchObject({ content: "2\terror 7" });
  expect(await call(terminal, { command: "echo $WHO in $PWD; exit 4" })).toMatchObject({
    error: null,
    exitCode: 4,
    stdout: `ada in ${join(cwd, "logs")}\n`,
  });
});

test("a large file gives its lines, a script stays executable, a time-out keeps what was written", async () => {
  const { cwd, terminal, read, patch } = await room();
  await mkdir(join(cwd, "bin"));
  await writeFile(join(cwd, "bin/run.sh"), "#!/bin/sh\necho old\n", { mode: 0o755 });
  await writeFile(
    join(cwd, "big.log"),
    Array.from({ length: 800_000 }, (_, index) => `line ${index + 1}`).join("\n"),
  );

  await call(patch, { path: "bin/run.sh", old: "old", new: "new" });

  expect(await call(terminal, { command: "bin/run.sh" })).toMatchObject({ exitCode: 0, stdout: "new\n" });
  expect(await call(read, { path: "big.log", offset: -1 })).toMatchObject({
    error: null,
    content: "line 800000",
  });
  expect((await call(read, { path: "bin" })).error).toMatch(/no plain file/);
  expect((await call(read, { path: "gone" })).error).toMatch(/does not exist/);
  expect(await call(terminal, { command: "echo begun; sleep 60", timeoutSeconds: 0.5 })).toMatchObject({
    timedOut: true,
    exitCode: 124,
    stdout: "begun\n",
  });
});
