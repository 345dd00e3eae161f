// S1: what an agent's tools can see and change of Nightshift's own home.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { callTools, say } from "../../support/model-server.ts";
import { agentJob, runOnce, scriptedHome, writeIn } from "./scripted-home.ts";

const SKILL = "---\nname: triage\ndescription: How to read logs.\n---\nFrom the end.\n";

/** Whether walls can stand on this machine; CI makes sure that they can (test/meta/environment.test.ts). */
function hasWalls(): boolean {
  try {
    execFileSync("bwrap", ["--dev-bind", "/", "/", "--unshare-user", "--unshare-pid", "true"], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

test("S1: file tools see the run's own folders and the skills, change only the former, and nothing else of the home", async () => {
  const { context, server } = await scriptedHome(({ number }) =>
    number === 1
      ? callTools([
          { name: "read_file", arguments: { path: join(home(), "config.yaml") } },
          { name: "read_file", arguments: { path: join(home(), "skills/triage/SKILL.md") } },
          {
            name: "write_file",
            arguments: { path: join(home(), "skills/triage/SKILL.md"), content: "evil" },
          },
          { name: "write_file", arguments: { path: "note.txt", content: "mine" } },
          { name: "search_files", arguments: { path: join(home(), ".."), pattern: "openai-compatible" } },
        ])
      : say("done"),
  );
  const home = () => context.home.paths.root;
  await writeIn(context.home.paths.skillsFolder, "triage/SKILL.md", SKILL);
  await runOnce(context, agentJob("look", { prompt: "x", toolsets: ["files"] }));

  const results = server.requests[1]?.body.messages
    .filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => JSON.parse(content));
  expect(results[0].error).toContain("it belongs to Nightshift itself");
  expect(results[1]).toMatchObject({ error: null });
  expect(results[2].error).toContain("is refused");
  expect(results[3]).toMatchObject({ error: null });
  expect(JSON.stringify(results[4])).not.toContain("config.yaml:");
  expect(await readFile(join(context.home.paths.skillsFolder, "triage/SKILL.md"), "utf8")).toBe(SKILL);
});

test.skipIf(!hasWalls())(
  "S1: behind bubblewrap a command sees neither the home nor the node's environment, and cannot change skills",
  async () => {
    const command = [
      "cat $H/config.yaml $H/.env $H/token",
      "echo evil > $H/skills/triage/SKILL.md",
      "cat $H/skills/triage/SKILL.md",
      "tr '\\0' '\\n' < /proc/$NODE/environ",
      "echo mine > note.txt && cat note.txt",
      "ls $H",
    ].join("; ");
    const { context, server } = await scriptedHome(
      [callTools([{ name: "terminal", arguments: { command } }]), say("done")],
      { env: { PATH: process.env.PATH, HOME: "/", SECRET_OF_NODE: "node-only-value" } },
    );
    const { root, skillsFolder, envFile } = context.home.paths;
    await writeFile(envFile, "A=only-in-env-file\n", { mode: 0o600 });
    await writeIn(skillsFolder, "triage/SKILL.md", SKILL);
    const env = { H: root, NODE: String(process.pid) };
    await runOnce(context, agentJob("shell", { prompt: "x", toolsets: ["terminal"] }, { env }));

    const messages = server.requests[1]?.body.messages;
    const result = JSON.parse(messages.find(({ role }: { role: string }) => role === "tool").content);
    expect(result.stdout).toContain("From the end.");
    expect(result.stdout).toContain("mine");
    for (const hidden of [
      "openai-compatible",
      "only-in-env-file",
      context.home.token,
      "node-only-value",
      "ledger.db",
    ])
      expect(result.stdout + result.stderr).not.toContain(hidden);
    expect(await readFile(join(skillsFolder, "triage/SKILL.md"), "utf8")).toBe(SKILL);
    expect(existsSync(join(root, "config.yaml"))).toBe(true);
  },
);
