// `npm start` as a new user meets it: a fresh clone, nothing installed, until the first sample run has succeeded.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../support/temp.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const canClone = existsSync(join(root, ".git"));

test.skipIf(!canClone)(
  "two commands on a fresh machine: npm start installs, builds, fires its samples, says where to look, and drains on Ctrl-C",
  { timeout: 240_000 },
  async () => {
    const clone = join(await tempFolder(), "clone");
    execFileSync("git", ["clone", "--quiet", "--no-hardlinks", root, clone]);
    const { NIGHTSHIFT_HOME: _home, NIGHTSHIFT_STORE: _store, ...env } = process.env;
    const child = spawn("npm", ["start"], {
      cwd: clone,
      env: { ...env, NO_COLOR: "1" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const group = -(child.pid ?? 0);
    onTestFinished(() => {
      if (child.exitCode === null && child.signalCode === null) process.kill(group, "SIGKILL");
    });
    let output = "";
    const fired = new Promise<void>((resolve, reject) => {
      const read = (chunk: Buffer) => {
        output += chunk.toString("utf8");
        const hasFired = /hello {2}slot .* succeeded: Hello from Nightshift.*→ output\/hello\//.test(output);
        if (hasFired && /house-call {2}slot .* succeeded: This machine: .* used, load /.test(output))
          resolve();
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.once("exit", (code) => reject(new Error(`npm start ended with ${code}:\n${output}`)));
    });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));

    await fired;
    process.kill(group, "SIGINT");

    // npm itself may end by the signal; what counts is that the node said goodbye.
    expect([0, null], output).toContain(await ended);
    expect(output).toContain("Look further:");
    const nodes = JSON.parse(nightshift(clone, "node", "list"));
    expect(nodes).toMatchObject([{ state: "stopped", liveRuns: 0 }]);
    expect(statSync(join(clone, ".nightshift")).mode & 0o777).toBe(0o700);
    expect(execFileSync("git", ["status", "--porcelain"], { cwd: clone, encoding: "utf8" })).toBe("");
    const audit = nightshift(clone, "run", "audit");
    expect(JSON.parse(audit)).toMatchObject({ isClean: true });
  },
);

function nightshift(clone: string, ...args: string[]): string {
  return execFileSync(process.execPath, ["bin/nightshift.js", "--home", ".nightshift", ...args, "--json"], {
    cwd: clone,
    encoding: "utf8",
  });
}
