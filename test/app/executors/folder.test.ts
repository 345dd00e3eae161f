// executors/: what each file is taken for, what is refused, and what a change means.

import { readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeContext } from "../../execute/room.ts";
import { executorHome } from "./home.ts";

const names = async (home: Awaited<ReturnType<typeof executorHome>>) =>
  (await home.context.executors.list())
    .filter(({ source }) => source !== "built in")
    .map(({ name, kind }) => `${kind} ${name}`);

describe("a file in executors/", () => {
  test("an old script works without a word of metadata; a comment adds its contract", async () => {
    const home = await executorHome({
      files: {
        "executors/backup.sh": "#!/bin/sh\necho saved $1 of $PARAM_HOST to $2\n",
        "executors/report": "#!/bin/sh\necho '{\"rows\": 3}'\n",
        "executors/check.sh":
          '#!/bin/sh\n# Checks a disk.\n# nightshift: timeout=60 retry=2 memoryMb=64\n# param host string\n# param limit integer=85\necho "$@"\n',
      },
    });

    expect(await names(home)).toEqual(["script backup", "script check", "script report"]);
    expect(await home.call("backup", { host: "a", args: ["/data"] })).toMatchObject({
      output: "saved --host of a to a\n",
    });
    expect(await home.call("report")).toMatchObject({ result: { rows: 3 } });
    expect(await home.executor("check")).toMatchObject({
      description: "Checks a disk.",
      contract: { timeoutMs: 60_000, retry: { max: 2 }, resources: { memoryMb: 64 } },
    });
    expect(await home.call("check", { host: "h" })).toMatchObject({ output: "--host h --limit 85\n" });
    expect(await home.call("check", {})).toMatchObject({ error: { code: "params" } });
  });

  test("a module's definitions are called in this process; defaults, names and lists of exports count", async () => {
    const home = await executorHome({
      files: {
        "executors/one.mjs":
          "export default {name: 'one', run: () => process.pid};\nexport const more = [{name: 'two', timeout: 5, run: () => 2}];",
        "executors/old.cjs": "module.exports.three = {name: 'three', run: () => 3};",
      },
    });

    expect(await names(home)).toEqual(["function one", "function three", "function two"]);
    expect(await home.call("one")).toMatchObject({ result: process.pid });
    expect(await home.executor("two")).toMatchObject({ isInProcess: true, contract: { timeoutMs: 5_000 } });
  });

  test("TypeScript is loaded, and may import from nightshift although the home has no package of its own", async () => {
    const home = await executorHome({
      files: {
        "executors/typed.ts":
          'import { defineExecutor } from "nightshift";\nimport { add } from "./sums.ts";\nexport default defineExecutor({ name: "typed", run: (p: { n?: number }) => add(p.n ?? 0) });',
        "executors/sums.ts": "export const add = (n: number): number => n + 1;",
      },
    });

    expect(await home.call("typed", { n: 2 })).toMatchObject({ result: 3 });
    expect(await home.problems()).toEqual([
      "executors/sums.ts: it exports no executor; export default defineExecutor({…}), or let its name begin with _",
    ]);
  });

  test("nothing is run to find out what it is: an old script in JavaScript or Python stays asleep", async () => {
    const home = await executorHome({
      files: {
        "executors/clean.js":
          "// export default is not here\nconsole.log('cleaned ' + process.argv.slice(2).join(' '));",
        "executors/tidy.py": "import sys\nprint('tidied', *sys.argv[1:])",
        "executors/library.py": "import os\nX = 1\ndef help_me():\n    return 1\n",
      },
    });

    expect(await names(home)).toEqual(["script clean", "script tidy"]);
    expect(await home.call("clean", { args: ["a"] })).toMatchObject({ output: "cleaned a\n" });
    expect(await home.call("tidy", { args: ["b"] })).toMatchObject({ output: "tidied b\n" });
  });

  test("what cannot be registered is a problem with its place, and stops nothing else", async () => {
    const home = await executorHome({
      files: {
        "executors/good.sh": "#!/bin/sh\n",
        "executors/bad.sh": '#!/bin/sh\n# nightshift: memoryMb="64"\n',
        "executors/broken.mjs": "export default {name: 'broken', run: () => }",
        "executors/broken.py": "def f(:\n",
        "executors/wrong.mjs": "export default {name: 'wrong', tiemout: 1, run: () => 1}",
        "executors/what": "no shebang\n",
        "executors/notes.md": "# mine\n",
        "executors/_helper.mjs": "export const x = 1;",
      },
    });

    expect(await names(home)).toEqual(["script good"]);
    expect((await home.problems()).map((text) => text.split("\n")[0])).toEqual([
      'executors/bad.sh:2: resources.memoryMb is a number in quotes; write 64, not "64"',
      expect.stringContaining("executors/broken.mjs: "),
      expect.stringContaining("executors/broken.py:1: "),
      expect.stringContaining("executors/what: nothing says what runs it"),
      expect.stringContaining('executors/wrong.mjs: wrong: unknown key "tiemout"; did you mean "timeout"?'),
    ]);
    await expect(home.run("bad")).rejects.toThrow('there is no executor "bad": executors/bad.sh:2: ');
  });

  test("a script that a link leads out of the folder is never run", async () => {
    const home = await executorHome({ files: { "outside.sh": "#!/bin/sh\necho out\n" } });
    await symlink(join(home.path, "outside.sh"), join(home.path, "executors", "inside.sh"));

    expect(await home.call("inside")).toMatchObject({
      error: { code: "preflight", message: expect.stringContaining("leads out of the scripts folder") },
    });
  });
});

describe("a change", () => {
  test("of a file shows without a restart; what runs finishes on the old code", async () => {
    const home = await executorHome({
      files: {
        "executors/a.mjs":
          "export default {name: 'a', run: ({}, {log, signal}) => new Promise((done) => { log('begun'); signal.addEventListener('abort', () => {}); globalThis.nightshiftTestGo = () => done('old'); })}",
      },
    });
    const ctx = makeContext();
    const running = home.call("a", {}, { ctx });
    await ctx.next(({ kind }) => kind === "stdout");

    await home.write("executors/a.mjs", "export default {name: 'a', version: '2', run: () => 'new'}");
    home.later();

    expect(await home.call("a")).toMatchObject({ result: "new" });
    (globalThis as unknown as { nightshiftTestGo(): void }).nightshiftTestGo();
    expect(await running).toMatchObject({ result: "old" });
  });

  test("D2: a file that is still being written takes nothing away; once it has settled, what it says counts", async () => {
    const home = await executorHome({
      files: { "executors/a.mjs": "export default {name: 'a', run: () => 1}" },
    });
    const file = join(home.path, "executors", "a.mjs");
    expect(await home.call("a")).toMatchObject({ result: 1 });

    await writeFile(file, "export default {name: 'a', run: (");
    // Just now, for a registry that looks a second later.
    await utimes(file, Date.now() / 1_000 + 1, Date.now() / 1_000 + 1);
    home.later(1_100);
    expect(await home.call("a")).toMatchObject({ result: 1 });

    home.later(2_000);
    expect(await home.context.executors.named("a")).toEqual([]);
    expect(await home.problems()).toEqual([expect.stringContaining("executors/a.mjs")]);
  });

  test("of a removed file takes its executors away", async () => {
    const home = await executorHome({ files: { "executors/a.sh": "#!/bin/sh\n" } });
    expect(await names(home)).toEqual(["script a"]);

    await rm(join(home.path, "executors", "a.sh"));
    home.later();

    expect(await names(home)).toEqual([]);
  });

  test("of executors: in config.yaml shows, too; one that cannot be read leaves the last one in force", async () => {
    const home = await executorHome({ config: "executors: {say: {shell: echo one}}\n" });
    expect(await home.call("say")).toMatchObject({ output: "one\n" });

    await home.write("config.yaml", "executors: {say: {shell: echo two!}}\n");
    home.later();
    expect(await home.call("say")).toMatchObject({ output: "two!\n" });

    await home.write("config.yaml", "executors: {say: {shel: echo three}}\n");
    home.later();
    expect(await home.call("say")).toMatchObject({ output: "two!\n" });
    expect(await home.problems()).toEqual([
      expect.stringContaining('unknown key "shel"; did you mean "shell"?'),
    ]);
  });
});

describe("several registrations of one name", () => {
  test("versions stand side by side, the newest first; the program's count before all others", async () => {
    const home = await executorHome({
      config:
        "executors:\n  cv:\n    - {shell: echo old, version: v2.9}\n    - {shell: echo new, version: v2.10}\n  mine: {shell: echo config}\n",
      files: { "executors/mine.sh": "#!/bin/sh\necho folder\n" },
      executors: { mine: () => "program" },
    });

    expect((await home.context.executors.named("cv")).map(({ version }) => version)).toEqual([
      "v2.10",
      "v2.9",
    ]);
    expect(await home.call("mine")).toMatchObject({ result: "program" });
    expect(await home.problems()).toEqual([
      "config.yaml: mine (version 1) is registered already in this program; that one counts",
      "executors/mine.sh: mine (version 1) is registered already in this program; that one counts",
    ]);
  });

  test("one's own takes the place of a built-in one without a word", async () => {
    const home = await executorHome({
      config: "executors: {email_notify: {shell: echo mailed, version: '7'}}\n",
    });

    expect(await home.context.executors.named("email_notify")).toHaveLength(1);
    expect(await home.call("email_notify")).toMatchObject({ output: "mailed\n" });
    expect(await home.problems()).toEqual([]);
  });
});

test("a home's own link to this package is made once, and what is there already is left alone", async () => {
  const text = "import 'nightshift';\nexport default {name: 'a', run: () => 1}";
  const home = await executorHome({
    files: {
      "node_modules/nightshift/package.json":
        '{"name": "nightshift", "exports": "./own.js", "type": "module"}',
      "node_modules/nightshift/own.js": "export {};",
      "executors/a.mjs": text.replace("import 'nightshift'", 'import * as own from "nightshift"; void own'),
    },
  });

  expect(await home.call("a")).toMatchObject({ result: 1 });
  expect(await readFile(join(home.path, "node_modules/nightshift/own.js"), "utf8")).toBe("export {};");
});
