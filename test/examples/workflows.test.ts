// The workflows of examples/, with what a reader is told to do with them.

import { execFileSync } from "node:child_process";
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunDocument } from "../../src/app/documents.ts";
import type { RunTreeDocument } from "../../src/app/runs.ts";
import { type CliHome, cliHome } from "../cli/run-cli.ts";
import { say, startModelServer } from "../support/model-server.ts";
import { tempFolder } from "../support/temp.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const LINE_BIN = join(EXAMPLES, "inspection-line/bin");

/** A home with everything that the example's README copies into it. */
async function homeOf(example: string, env: Record<string, string> = {}): Promise<CliHome> {
  const home = await cliHome({ env });
  await cp(join(EXAMPLES, example), home.path, { recursive: true });
  return home;
}

async function runOf(home: CliHome, workflow: string, ...params: string[]): Promise<RunDocument> {
  const given = params.flatMap((param) => ["--param", param]);
  const { stdout, stderr } = await home.run(["workflow", "run", workflow, ...given, "--wait", "--json"]);
  expect(stderr).toMatch(/^(Task "t3_cv_inspect" .*\n)?(Running it here as .*\n)?$/);
  return JSON.parse(stdout);
}

/** Each task's attempts, in order: `id: state (reason)`. */
async function tasksOf(home: CliHome, run: string): Promise<string[]> {
  const { children } = await home.json<RunTreeDocument>("run", "tree", run);
  return children.map(
    ({ unit, state, reason }) => `${unit}: ${state}${reason === null ? "" : ` (${reason})`}`,
  );
}

/** What the line's devices were told, oldest first. */
async function lineLog(home: CliHome): Promise<Record<string, unknown>[]> {
  const lines = (await home.read("line.log")).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/** Who looked at the part. The workflow puts its picture into /tmp by name: it goes with the test. */
async function lookedAt(home: CliHome, run: string): Promise<unknown> {
  const { children } = await home.json<RunTreeDocument>("run", "tree", run);
  const looked = children.find(({ unit, state }) => unit === "t3_cv_inspect" && state === "succeeded");
  if (looked?.outcome?.state !== "succeeded") return undefined;
  const { by, image } = looked.outcome.result as { by: string; image: string };
  await rm(image);
  return by;
}

const ALL_WELL = [
  "t1_plc_trigger: succeeded",
  "t2_image_capture: succeeded (silent)",
  "t3_cv_inspect: succeeded",
  "t4_audio_analyze: succeeded",
  "t6_decision: succeeded",
  "t5_alert: skipped (notActivated)",
  "t7_eject_command: succeeded",
];
const GOOD_PART = { command: "eject_part", value: false };

test("inspection-line: the seed's file, as it is written, judges a part; when the GPU is stuck, the CPU does", async () => {
  const home = await homeOf("inspection-line", { PATH: `${LINE_BIN}:${process.env.PATH}` });
  const seed = await readFile(join(import.meta.dirname, "../orchestrate/fixtures/inspection_workflow.yaml"));
  expect(await readFile(join(home.path, "workflows/inspection_workflow.yaml"))).toEqual(seed);

  const well = await runOf(home, "inspection_workflow");
  await home.write("gpu-stuck", "");
  const stuck = await runOf(home, "inspection_workflow");

  expect(well.state).toBe("succeeded");
  expect((await tasksOf(home, well.id)).sort()).toEqual([...ALL_WELL].sort());
  expect(await lookedAt(home, well.id)).toBe("gpu");
  expect(stuck.state).toBe("succeeded");
  expect(await tasksOf(home, stuck.id)).toContain("t3_cv_inspect: failed (unavailable)");
  expect(await lookedAt(home, stuck.id)).toBe("cpu");
  expect(await lineLog(home)).toEqual([GOOD_PART, GOOD_PART]);
});

test("inspection-line: without a GPU it runs degraded, and says so; a silent PLC alerts the foreman", async () => {
  const bin = await tempFolder();
  await cp(join(LINE_BIN, "gphoto2"), join(bin, "gphoto2"));
  const home = await homeOf("inspection-line", { PATH: `${bin}:/usr/bin:/bin` });

  const checked = await home.run(["workflow", "check", "inspection_workflow"]);
  const degraded = await runOf(home, "inspection_workflow");
  await home.write("plc-silent", "");
  const silent = await home.run(["workflow", "run", "inspection_workflow", "--wait"]);

  expect(checked).toMatchObject({ exitCode: 0 });
  expect(checked.stderr).toContain("it will run degraded, as cv_inspect_cpu.");
  expect(await tasksOf(home, degraded.id)).toContain("t3_cv_inspect: failed (offline)");
  expect(await lookedAt(home, degraded.id)).toBe("cpu");
  expect(silent).toMatchObject({ exitCode: 0 });
  expect(silent.stdout).toContain(": partially succeeded (the failure of task t1_plc_trigger was handled): ");
  expect(await lineLog(home)).toEqual([
    GOOD_PART,
    {
      subject: "质检流程中断",
      body: "t1_plc_trigger: the PLC does not answer for bearing_001 (status)",
    },
  ]);
});

test("inspection-line: another machine has the GPU; when that machine is gone, this one goes on alone", async () => {
  const env = { LINE_TOKEN: "the-token-of-this-test", PATH: `${LINE_BIN}:${process.env.PATH}` };
  const [a, b] = [await homeOf("inspection-line", env), await homeOf("inspection-line", env)];
  await Promise.all(["line.py", "vision_cpu.py"].map((name) => rm(join(b.path, "executors", name))));
  const machineB = (await b.read("machine-b.yaml")).replace("192.168.1.102", "127.0.0.1");
  await b.write("config.yaml", machineB.replace("port: 8002", "port: 0"));
  const there = b.start(["up", "--json", "--grace", "1s"]);
  const [, url = ""] = await there.said(/"url":"(http:[^"]+)"/);
  await rm(join(a.path, "executors/vision.py"));
  await a.write("config.yaml", (await a.read("machine-a.yaml")).replace("http://192.168.1.102:8002", url));

  const together = await runOf(a, "inspection_workflow");
  there.child.kill("SIGKILL");
  await there.ended;
  const alone = await runOf(a, "inspection_workflow");

  expect([together.state, alone.state]).toEqual(["succeeded", "succeeded"]);
  expect(await lookedAt(a, together.id)).toBe("gpu");
  expect(await lookedAt(a, alone.id)).toBe("cpu");
  expect(await b.json("run", "list")).toMatchObject([{ work: "cv_inspect", state: "succeeded" }]);
});

test("nightly-reports: three old scripts, unchanged; tried again while the shop is being backed up", async () => {
  const home = await homeOf("nightly-reports");
  const user = join(home.path, "..");
  await mkdir(join(user, "shop"));
  await writeFile(
    join(user, "shop/orders.csv"),
    "2026-11-28,apples,12.50\n2026-11-28,pears,7.25\n2026-11-29,apples,3.00\n",
  );
  await writeFile(join(user, "shop/backup.lock"), "");
  await home.json("job", "apply", "-f", join(home.path, "job.yaml"));

  const going = home.start(["workflow", "run", "nightly", "--param", "day=2026-11-28", "--json"]);
  let tried: RunDocument[] = [];
  while (tried.length === 0)
    tried = await home.json<RunDocument[]>("run", "list", "--state", "failed", "--limit", "1");
  await rm(join(user, "shop/backup.lock"));
  const run: RunDocument = JSON.parse((await going.ended).stdout);
  const alone = await home.run(["executor", "submit", "sum-orders", "--params", '{"args": ["2026-11-28"]}']);

  expect(tried).toMatchObject([{ unit: "export", outcome: { error: { exitCode: 75 } } }]);
  expect(run).toMatchObject({
    state: "succeeded",
    outcome: { output: expect.stringMatching(/^Orders of 2026-11-28: 19.75 EUR\n +1 apples\n +1 pears\n$/) },
  });
  const tasks = await tasksOf(home, run.id);
  expect(tasks.filter((task) => task.endsWith("succeeded"))).toEqual([
    "export: succeeded",
    "sum: succeeded",
    "publish: succeeded",
  ]);
  expect(alone.stdout).toContain("succeeded: 19.75 EUR");
  expect(await home.json("job", "show", "nightly")).toMatchObject({
    state: "scheduled",
    next: expect.any(String),
  });
});

test("python-and-typescript: a value of the one language is a value of the other", async () => {
  const home = await homeOf("python-and-typescript");
  // What `npm install esbuild` does, for Nodes that do not read TypeScript themselves.
  await mkdir(join(home.path, "node_modules"), { recursive: true });
  await symlink(join(EXAMPLES, "../node_modules/esbuild"), join(home.path, "node_modules/esbuild"));
  const file = join(await tempFolder(), "readings.csv");
  await writeFile(file, "sensor,celsius\npump,71.5\npump,72.5\nfan,40\n");

  const run = await runOf(home, "temperatures", `file=${file}`, "above=65");

  expect(run).toMatchObject({
    state: "succeeded",
    outcome: { output: "pump: 72 °C, have it looked at", result: { hot: ["pump"] } },
  });
});

test("agent-in-a-graph: what an agent wrote is published when a person has approved it; no commits, no model", async () => {
  const server = await startModelServer([say("- Printing works again.")]);
  const home = await homeOf("agent-in-a-graph", { KEY_OF_THIS_TEST: "sk-none" });
  const config = await home.read("config.yaml");
  await home.write(
    "config.yaml",
    config
      .replace("provider: openai, ", `provider: openai-compatible, baseUrl: "${server.baseUrl}", `)
      .replace("OPENAI_API_KEY", "KEY_OF_THIS_TEST"),
  );
  const repository = await tempFolder();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], {
      cwd: repository,
      env: { PATH: process.env.PATH, HOME: repository },
    });
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "Mend printing");

  const quiet = await runOf(home, "release-notes", `repository=${repository}`, "since=2099-01-01");
  const going = home.start([
    "workflow",
    "run",
    "release-notes",
    "--param",
    `repository=${repository}`,
    "--json",
  ]);
  let asked: RunDocument | undefined;
  while (!asked)
    [asked] = await home.json<RunDocument[]>("run", "list", "--state", "waiting", "--limit", "1");
  await home.json("run", "resolve", asked.id, "--as", "succeeded");
  const run: RunDocument = JSON.parse((await going.ended).stdout);

  expect(quiet).toMatchObject({ state: "succeeded", outcome: { output: "Nothing has changed." } });
  expect(JSON.stringify(server.requests[0]?.body)).toContain("- Mend printing (Ada)");
  expect(server.requests).toHaveLength(1);
  expect(run).toMatchObject({ state: "succeeded", outcome: { output: "- Printing works again." } });
  expect(await readFile(join(repository, "RELEASE_NOTES.md"), "utf8")).toBe("- Printing works again.\n");
});
