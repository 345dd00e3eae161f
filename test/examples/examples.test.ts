// Runs what examples/ tells a reader to run.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliHome, cliHome } from "../cli/run-cli.ts";
import { hasPostgres, postgresDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const BIN = join(import.meta.dirname, "../../bin/nightshift.js");

async function copyScript(home: CliHome, example: string, name: string): Promise<void> {
  await copyFile(join(EXAMPLES, example, name), join(home.path, "scripts", name));
}

test("disk-watchdog: silent while disks have room, one line for each that has not", async () => {
  const home = await cliHome();
  await copyScript(home, "disk-watchdog", "disk-watchdog.sh");
  await home.json("job", "apply", "-f", join(EXAMPLES, "disk-watchdog/job.yaml"));

  await home.json("job", "update", "disk-watchdog", "--env", "DISK_LIMIT=101");
  const silent = await home.json<{ outcome: object }>("run", "show", await runById(home, "disk-watchdog"));
  await home.json("job", "update", "disk-watchdog", "--env", "DISK_LIMIT=0");
  const loud = await home.json<{ outcome: { output: string } }>(
    "run",
    "show",
    await runById(home, "disk-watchdog"),
  );

  expect(silent.outcome).toMatchObject({ state: "succeeded", isSilent: true });
  expect(loud.outcome.output).toMatch(/^\/\S* is \d+ % full \(.+\)$/m);
});

/** The id of a run by hand that has ended. */
async function runById(home: CliHome, job: string): Promise<string> {
  const { exitCode, stdout } = await home.run(["job", "run", job, "--json"]);
  expect(exitCode).toBe(0);
  return (JSON.parse(stdout) as { id: string }).id;
}

/** A process of the example; killed when the test has finished. `said` resolves with the first match of its output. */
function startNode(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH ?? "", ...env } });
  let output = "";
  let look = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      look();
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const said = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      look = () => {
        const match = pattern.exec(output);
        if (match) resolve(match);
      };
      look();
      child.once("close", () => reject(new Error(`ended without ${pattern}: ${output}`)));
    });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { said, ended, output: () => output };
}

test("webhook: the receiver gets the result, signed; a forged signature is refused", async () => {
  const home = await cliHome();
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const receiver = startNode([join(EXAMPLES, "webhook/receiver.mjs"), "0"], { HOOK_SECRET: secret });
  const [, url = ""] = await receiver.said(/listening on (\S+)/);
  const config = await readFile(join(EXAMPLES, "webhook/config.yaml"), "utf8");
  await home.write("config.yaml", config.replace("http://127.0.0.1:8787", url));
  await home.write(".env", `HOOK_SECRET=${secret}\n`);
  await copyScript(home, "webhook", "report.sh");
  await home.json("job", "apply", "-f", join(EXAMPLES, "webhook/job.yaml"));

  const runId = await runById(home, "report");
  const [delivery] = await home.json<{ state: string; runId: string; receipt: object }[]>("delivery", "list");
  const forged = await fetch(url, {
    method: "POST",
    body: "{}",
    headers: {
      "webhook-id": "x",
      "webhook-timestamp": `${Math.floor(Date.now() / 1_000)}`,
      "webhook-signature": "v1,no",
    },
  });

  expect(delivery).toMatchObject({ state: "delivered", runId, receipt: { status: 204 } });
  expect(receiver.output()).toMatch(/^nightshift\.result of report: load: \d/m);
  expect(forged.status).toBe(401);
});

test("embedded: a program with a node inside counts to six in three fires and closes cleanly", async () => {
  const home = join(await tempFolder(), "home");
  const program = startNode([join(EXAMPLES, "embedded/main.mjs")], { NIGHTSHIFT_HOME: home });

  expect(await program.ended).toBe(0);
  expect(
    program
      .output()
      .split("\n")
      .slice(0, 3)
      .map((line) => line.replace(/^\S+Z | \(.*$/g, "")),
  ).toEqual(["succeeded: counted to 2", "succeeded: counted to 4", "succeeded: counted to 6"]);
});

test("own-timer: the line of the crontab fires what is due, through a shell as cron has it", async () => {
  const home = await cliHome();
  const crontab = await readFile(join(EXAMPLES, "own-timer/crontab"), "utf8");
  const unit = await readFile(join(EXAMPLES, "own-timer/nightshift-tick.service"), "utf8");
  const line = crontab.split("\n").find((one) => one.startsWith("* * * * * ")) ?? "";
  const command = line.slice("* * * * * ".length).replaceAll("$HOME/.nightshift", home.path);
  await home.json("job", "add", "in 1s", "--script", "hi.sh", "--id", "once");
  const path = await nightshiftOnPath();

  for (let passes = 0; passes < 40; passes++) {
    await shell(command, {
      PATH: `${path}:${process.env.PATH}`,
      NIGHTSHIFT_HOME: home.path,
      HOME: home.path,
    });
    if ((await home.json<unknown[]>("run", "list")).length > 0) break;
  }

  expect(await home.json("run", "list")).toMatchObject([
    { jobId: "once", state: "succeeded", trigger: "schedule" },
  ]);
  expect(await home.read("logs/tick.log")).toContain("Started 1 runs");
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env nightshift tick$/m);
});

/** A folder with a command `nightshift`, as an installation puts it on PATH. */
async function nightshiftOnPath(): Promise<string> {
  const folder = join(await tempFolder(), "bin");
  await mkdir(folder);
  const shim = join(folder, "nightshift");
  await writeFile(shim, `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
  await chmod(shim, 0o755);
  return folder;
}

function shell(command: string, env: Record<string, string>): Promise<number | null> {
  const child = spawn("/bin/sh", ["-c", command], { env, stdio: "ignore" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
}

test("push-hook: one run a push, told by a signed webhook; a delivery that is repeated starts nothing", async () => {
  const home = await cliHome({ env: { GITHUB_HOOK_SECRET: "s3cr3t-of-this-test" } });
  await home.write("config.yaml", await readFile(join(EXAMPLES, "push-hook/config.yaml"), "utf8"));
  await copyScript(home, "push-hook", "on-push.sh");
  await home.json("job", "apply", "-f", join(EXAMPLES, "push-hook/job.yaml"));
  const node = home.start(["up", "--port", "0", "--json", "--grace", "1s"]);
  const [, url = ""] = await node.said(/"url":"(http:[^"]+)"/);
  const env = { PATH: process.env.PATH ?? "", GITHUB_HOOK_SECRET: "s3cr3t-of-this-test" };
  const send = (body: string) =>
    shell(`sh ${join(EXAMPLES, "push-hook/send.sh")} ${url} '${body}' delivery-1`, env);

  const sent = [await send('{"ref": "refs/heads/main"}'), await send('{"ref": "refs/heads/main"}')];
  await node.said(/"event":"run"/);

  expect(sent).toEqual([0, 0]);
  expect(await send('{"ref": "refs/heads/other"}')).not.toBe(0);
  expect(await home.json("run", "list")).toMatchObject([
    { jobId: "on-push", trigger: "event", state: "succeeded", outcome: { output: "main was pushed.\n" } },
  ]);
  expect(await home.json("hook", "list")).toMatchObject([{ path: "/hooks/github", jobs: ["on-push"] }]);
});

test.skipIf(!hasPostgres)("postgres: two nodes on one database start each slot once", async () => {
  const env = { NIGHTSHIFT_STORE: await postgresDatabase() };
  const [a, b] = [await cliHome({ env }), await cliHome({ env })];
  const nodes = [a, b].map((home) => home.start(["up", "--no-http", "--json", "--grace", "1s"]));
  for (const node of nodes) await node.said(/"event":"ready"/);
  await a.write(
    "job.yaml",
    "id: beat\nschedule: every 1s\nrun: {script: hi.sh}\neffects: none\ndeliver: []\n",
  );
  await a.json("job", "apply", "-f", `${a.path}/job.yaml`);

  await Promise.any(nodes.map((node) => node.said(/("event":"run"[\s\S]*){3}/)));
  const listed = await b.json<{ state: string }[]>("node", "list");
  const exported = await b.run(["job", "export", "beat"]);
  for (const node of nodes) node.child.kill("SIGINT");
  await Promise.all(nodes.map((node) => node.ended));
  const audit = await b.json<{ isClean: boolean; due: number }>("run", "audit");

  expect(listed.map(({ state }) => state)).toEqual(["up", "up"]);
  expect(exported.stdout).toMatch(/^id: beat\n/);
  expect(audit).toMatchObject({ isClean: true, missing: [], doubled: [], early: [] });
  expect(audit.due).toBeGreaterThanOrEqual(3);
});
