// `environment list | check | exec | reap` and what `check-env` says of backends: as people type them.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownerLabel } from "../../src/execute/environments/reap-containers.ts";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../support/docker-engine.ts";
import { cliHome } from "./run-cli.ts";

let engine: Engine | undefined;
beforeAll(async () => {
  if (!whyNoEngine()) engine = await startEngine();
});
afterAll(() => engine?.stop());

const CONFIG = `environments:
  box: {backend: docker, image: "${TEST_IMAGE}", network: none}
  cloud: modal:python
`;
const JOB = "run: {script: hi.sh}\nenvironment: cloud\n";

async function home() {
  const opened = await cliHome({ ...(engine && { env: { DOCKER_HOST: engine.env.DOCKER_HOST ?? "" } }) });
  await opened.write("config.yaml", CONFIG);
  return opened;
}

test("list shows local, named ones and those of jobs, and why one cannot be used", async () => {
  const cli = await home();
  await cli.write("jobs/sky.yaml", JOB);
  const { exitCode, stdout } = await cli.run(["environment", "list"]);
  expect(exitCode).toBe(0);
  const lines = stdout.split("\n").map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual(["NAME", "USABLE", "JOBS", "WHAT, OR WHY NOT"]);
  expect(lines[1]?.slice(0, 3)).toEqual(["local", "yes", "–"]);
  expect(lines.find(([name]) => name === "cloud")).toEqual([
    "cloud",
    "no",
    "sky",
    expect.stringContaining("modal"),
  ]);
});

test("check exits with 1 and a hint for what cannot be used, with 2 for what means none", async () => {
  const cli = await home();
  expect(await cli.run(["environment", "check", "cloud"])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^✗ modal:python: .*\n {2}.*modal.*\n {2}→ /),
  });
  expect(await cli.run(["environment", "check", "lcoal"])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("Did you mean local?"),
  });
  expect(await cli.run(["environment", "check", "local"])).toMatchObject({ exitCode: 0 });
});

test("exec passes bytes, arguments and the exit code on, each stream to its own", async () => {
  const cli = await home();
  const text = await cli.run(["environment", "exec", "local", "printf 'a\\nb'; echo no >&2; exit 3"]);
  expect(text).toEqual({ exitCode: 3, stdout: "a\nb", stderr: "no\n" });
  const words = await cli.run([
    "environment",
    "exec",
    "local",
    "--",
    "printf",
    "[%s]",
    "a b",
    "it's",
    "$HOME",
    "-n",
  ]);
  expect(words).toEqual({ exitCode: 0, stdout: "[a b][it's][$HOME][-n]", stderr: "" });
  const late = await cli.run(["environment", "exec", "local", "--timeout", "1s", "echo up; sleep 60"]);
  expect(late).toMatchObject({ exitCode: 124, stdout: "up\n" });
});

test("S1: inside a run exec and reap are refused", async () => {
  const cli = await home();
  const env = { NIGHTSHIFT_RUN_ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  for (const args of [["exec", "local", "true"], ["reap"]])
    expect((await cli.run(["environment", ...args], { env })).exitCode).toBe(2);
});

test("check-env names every backend with what to install, and finds only what is used", async () => {
  const cli = await home();
  await cli.write("jobs/sky.yaml", JOB);
  const { stdout, exitCode } = await cli.run(["check-env", "--json"]);
  const { findings, checked } = JSON.parse(stdout);
  expect(exitCode).toBe(1);
  const about = checked.filter((line: string) => line.startsWith("environment "));
  expect(about.map((line: string) => /^environment ([a-z ]+): (?:not )?usable/.exec(line)?.[1])).toEqual([
    ...["local", "local in bubblewrap", "docker", "ssh", "singularity", "modal", "daytona", "vercel"],
  ]);
  expect(findings.map(({ code, what }: { code: string; what: string }) => [code, what])).toContainEqual([
    "environmentUnusable",
    expect.stringMatching(/^Environment cloud, needed by sky, cannot be used: /),
  ]);
  expect(findings.filter(({ what }: { what: string }) => what.includes("daytona"))).toEqual([]);
});

describe.skipIf(whyNoEngine())("with an engine", () => {
  test("exec runs in a container and leaves none; reap removes only a dead owner's", {
    timeout: 60_000,
  }, async () => {
    const cli = await home();
    const ran = await cli.run(["environment", "exec", "box", "--", "pwd"]);
    expect(ran).toEqual({ exitCode: 0, stdout: "/workspace\n", stderr: "" });
    expect(await cli.run(["environment", "reap"])).toMatchObject({ stdout: "Nothing was left behind.\n" });
    const owner = [...ownerLabel().split("|").slice(0, 3), process.pid, "1"].join("|");
    const labels = ["--label=nightshift.environment=x", `--label=nightshift.owner=${owner}`];
    await engine?.docker("run", "-d", "--name=left", "--network=none", ...labels, TEST_IMAGE, "sleep", "99");
    expect(await cli.run(["environment", "reap"])).toMatchObject({ exitCode: 0, stdout: "removed left\n" });
    expect(await engine?.docker("ps", "--all", "--quiet")).toBe("");
  });
});
