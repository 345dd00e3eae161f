// The agents of examples/, with a scripted model in place of a real one, and a program in place of Claude Code.

import { execFileSync } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliHome, cliHome } from "../cli/run-cli.ts";
import { callTools, type Script, say, startModelServer } from "../support/model-server.ts";
import { tempFolder } from "../support/temp.ts";

/** A commit that no review is for. */
const LONG_AGO = "2020-01-01T00:00:00Z";
const EXAMPLES = join(import.meta.dirname, "../../examples");

/** A home with the example's script and its job, on a scripted model, in a folder of the test's. */
async function homeWith(example: string, script: string, options: { steps?: Script; path?: string } = {}) {
  const server = await startModelServer(options.steps ?? []);
  const home = await cliHome({
    env: {
      OPENAI_API_KEY: "sk-none",
      ANTHROPIC_API_KEY: "sk-none",
      PATH: options.path ?? process.env.PATH ?? "",
    },
  });
  const model = `{provider: openai-compatible, id: m, baseUrl: "${server.baseUrl}", price: {input: 1, output: 1}}`;
  await home.write("config.yaml", `models:\n  default: main\n  named:\n    main: ${model}\n`);
  await home.write(`scripts/${script}`, await readFile(join(EXAMPLES, example, script)));
  await chmod(join(home.path, "scripts", script), 0o700);
  const workdir = await tempFolder();
  return { home, server, workdir };
}

/** The example's job as it stands, but for what a reader is told to edit. */
async function apply(home: CliHome, example: string, edits: Readonly<Record<string, string>>): Promise<void> {
  let text = await readFile(join(EXAMPLES, example, "job.yaml"), "utf8");
  for (const [from, to] of Object.entries(edits)) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  await home.write("job.yaml", text);
  await home.json("job", "apply", "-f", join(home.path, "job.yaml"));
}

async function runOf(home: CliHome, job: string) {
  const { stdout } = await home.run(["job", "run", job, "--json"]);
  return JSON.parse(stdout) as { state: string; reason: string | null; outcome: { output: string } };
}

test("log-watcher: no error line, no model call; else a summary, knowing what it said last", async () => {
  const { home, server, workdir } = await homeWith("log-watcher", "new-errors.sh", {
    steps: [
      callTools([{ name: "read_file", arguments: { path: "app.log" } }]),
      say("1 × disk full, since 17:58."),
      say("[SILENT]"),
    ],
  });
  await apply(home, "log-watcher", { "/var/log/app": workdir });
  await writeFile(join(workdir, "app.log"), "17:57 ok\n");
  const quiet = await runOf(home, "log-watcher");
  await writeFile(join(workdir, "app.log"), "17:57 ok\n17:58 ERROR disk full\n");
  const loud = await runOf(home, "log-watcher");
  const known = await runOf(home, "log-watcher");

  expect(quiet).toMatchObject({ state: "succeeded", reason: "notWoken" });
  expect(loud).toMatchObject({ state: "succeeded", outcome: { output: "1 × disk full, since 17:58." } });
  expect(known).toMatchObject({ state: "succeeded", reason: "silent" });
  expect(JSON.stringify(server.requests[0]?.body)).toContain("17:58 ERROR disk full");
  expect(JSON.stringify(server.requests[2]?.body)).toContain("1 × disk full, since 17:58.");
});

test("log-watcher: its config.yaml is one that check-config takes", async () => {
  const home = await cliHome({ env: { OPENAI_API_KEY: "sk-none" } });
  await home.write("config.yaml", await readFile(join(EXAMPLES, "log-watcher/config.yaml")));
  expect((await home.run(["check-config"])).exitCode).toBe(0);
});

test("page-digest: the first look and an unchanged page call no model; a change is told", async () => {
  let page = "<p>Version 1</p><p>Stable</p>";
  const site = createServer((_, response) => response.end(page)).listen(0, "127.0.0.1");
  onTestFinished(() => void site.close());
  await new Promise((resolve) => site.once("listening", resolve));
  const { home, server } = await homeWith("page-digest", "page-changed.js", {
    steps: [say("Version 2 is out.")],
  });
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  await apply(home, "page-digest", { "https://example.com/": url });

  const states = [await runOf(home, "page-digest"), await runOf(home, "page-digest")];
  page = "<p>Version 2</p><p>Stable</p>";
  const changed = await runOf(home, "page-digest");

  expect(states.map(({ reason }) => reason)).toEqual(["notWoken", "notWoken"]);
  expect(changed.outcome.output).toBe("Version 2 is out.");
  expect(JSON.stringify(server.requests[0]?.body)).toContain("- Version 1\\n+ Version 2");
  expect(server.requests[0]?.body.tools ?? []).toEqual([]);
});

test("pr-review: the day's commits go to a command-line agent by stdin; no commit, no review", async () => {
  const bin = await tempFolder();
  await writeFile(
    join(bin, "claude"),
    '#!/bin/sh\n[ "$1" = -p ] || exit 9\ngrep -q "a fine change" || exit 8\necho "a.txt: mend the end of line 1."\n',
  );
  await chmod(join(bin, "claude"), 0o700);
  const { home, workdir } = await homeWith("pr-review", "days-commits.sh", {
    path: `${bin}:${process.env.PATH}`,
  });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: workdir,
      env: {
        PATH: process.env.PATH,
        HOME: workdir,
        ...(args.includes(LONG_AGO) && { GIT_COMMITTER_DATE: LONG_AGO }),
      },
    });
  git("init", "-q");
  await apply(home, "pr-review", { "/home/me/project": workdir });
  git("commit", "-q", "--allow-empty", "-m", "old", "--date", LONG_AGO);
  const quiet = await runOf(home, "pr-review");
  await writeFile(join(workdir, "a.txt"), "one");
  git("add", ".");
  git("commit", "-q", "-m", "a fine change");
  const reviewed = await runOf(home, "pr-review");

  expect(quiet).toMatchObject({ state: "succeeded", reason: "notWoken" });
  expect(reviewed).toMatchObject({
    state: "succeeded",
    outcome: { output: "a.txt: mend the end of line 1." },
  });
});
