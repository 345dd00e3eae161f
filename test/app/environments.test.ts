// Jobs whose environment is not this machine: refused when made, blocked when due, run where they say.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotPrepare } from "../../src/app/cannot-prepare.ts";
import type { Context } from "../../src/app/context.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { startNode, tickOnce } from "../../src/app/node.ts";
import { showRun } from "../../src/app/runs.ts";
import { ownerLabel } from "../../src/execute/environments/reap-containers.ts";
import type { JobDocument } from "../../src/records/job.ts";
import { BLANK_RUN } from "../execute/room.ts";
import { agentContext } from "../support/agent-home.ts";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../support/docker-engine.ts";
import { BARE_ENV, testContext, writeScript } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

let engine: Engine | undefined;
beforeAll(async () => {
  if (!whyNoEngine()) engine = await startEngine();
});
afterAll(() => engine?.stop());

async function homeWith(config: string, env: Record<string, string | undefined> = {}): Promise<Context> {
  const path = join(await tempFolder(), "home");
  await mkdir(path, { mode: 0o700 });
  await writeFile(join(path, "config.yaml"), config, { mode: 0o600 });
  const context = await testContext({ path, env: { ...BARE_ENV, ...engine?.env, ...env } });
  await writeScript(context, "where.sh", "cat /proc/1/comm 2>/dev/null; pwd; ls / | grep -c busybox-only");
  return context;
}

const scriptJob = (environment: JobDocument["environment"]): JobDocument => ({
  id: "there",
  run: { script: "where.sh" },
  environment,
});

async function runOf(context: Context, id: string) {
  const queued = await queueRun(context, id);
  await tickOnce({ context });
  return showRun(context, queued.id);
}

describe("a job's environment when the job is made (law 8)", () => {
  test.each([
    ["daytona:python:3.12", "environment.unusable", "daytona"],
    ["docker:python:3.12", "environment.unusable", "docker or podman is not installed"],
    ["dokcer:python", "input.invalid", "there is no environment"],
    [{ backend: "docker", image: "x", netwrok: "none" }, "input.invalid", "netwrok"],
  ] as const)("%j is refused as %s, not run on this machine", async (environment, code, words) => {
    const context = await homeWith("", { PATH: "/nowhere" });
    const job = { ...scriptJob(environment), env: { PATH: process.env.PATH ?? "" } };
    await expect(addJob(context, job)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
  });

  test("a command agent is a program of this machine: another place is refused, not ignored", async () => {
    const context = await agentContext();
    const agent = { prompt: "look", runner: { command: ["true"] } };
    const job = { id: "cmd", run: { agent }, environment: "ssh:somewhere.invalid" };
    await expect(addJob(context, job)).rejects.toMatchObject({
      code: "job.invalid",
      message: "an agent that is a command cannot run in ssh:somewhere.invalid",
    });
  });
});

describe.skipIf(whyNoEngine())("a job's environment when it is due", () => {
  const box = `environments: {box: {backend: docker, image: "${TEST_IMAGE}", network: none}}\n`;

  test("a named environment: the script runs in its container, and the run is told as any other", async () => {
    const context = await homeWith(box);
    await addJob(context, scriptJob("box"));
    const run = await runOf(context, "there");
    expect(run).toMatchObject({ outcome: { output: expect.stringContaining("/workspace\n") } });
    expect(await engine?.docker("ps", "--all", "--quiet")).toBe("");
  });

  test("an engine that is gone by then blocks the run, with what to do, and starts nothing anywhere", async () => {
    const context = await homeWith(box);
    await addJob(context, scriptJob("box"));
    const gone = {
      ...context,
      scriptPlace: { ...context.scriptPlace, nodeEnv: { ...BARE_ENV, DOCKER_HOST: "unix:///nowhere.sock" } },
    };
    const queued = await queueRun(gone, "there");
    await tickOnce({ context: gone });
    expect(await showRun(gone, queued.id)).toMatchObject({
      state: "blocked",
      outcome: { error: { code: "preflight", message: expect.stringContaining("does not answer") } },
    });
  });

  test("hermes#75467: a node that starts removes the container of one that died, and leaves a living owner's", async () => {
    const context = await homeWith(box);
    const dead = ["run", "-d", "--name=orphan", "--network=none", "--label=nightshift.environment=x"];
    const [machine, boot, namespace] = ownerLabel().split("|");
    const labelled = (owner: string) => `--label=nightshift.owner=${owner}`;
    await engine?.docker(
      ...dead,
      labelled([machine, boot, namespace, process.pid, "1"].join("|")),
      TEST_IMAGE,
      "sleep",
      "99",
    );
    await engine?.docker(...dead.with(2, "--name=kept"), labelled(ownerLabel()), TEST_IMAGE, "sleep", "99");

    const node = await startNode({ context });
    await node.stop({ graceMs: 0 });

    expect(await engine?.docker("ps", "--all", "--format", "{{.Names}}")).toBe("kept");
    await engine?.docker("rm", "-f", "kept");
  });

  test("a script before an agent runs in the job's environment too", async () => {
    const context = await agentContext({ config: box, env: { ...BARE_ENV, ...engine?.env } });
    await writeScript(context, "gate.sh", `pwd; [ "$PWD" = /workspace ] && echo '{"wakeAgent": false}'`);
    await addJob(context, {
      id: "gated",
      run: { agent: { prompt: "x", script: "gate.sh" } },
      environment: "box",
    });
    const run = await runOf(context, "gated");
    expect(run).toMatchObject({ state: "succeeded", reason: "notWoken" });
  });
});

describe("L12: what a node of a shared database leaves to others", () => {
  const asPostgres = (context: Context): Context => ({
    ...context,
    ledger: { ...context.ledger, engine: "postgres" },
  });

  test.each([
    [{ environment: "docker:x" }, "docker or podman is not installed"],
    [{ environment: { backend: "local", sandbox: "bubblewrap" } }, "bwrap is not installed"],
    [{ run: { script: "absent.sh" } }, "the script absent.sh is not here"],
    [{ environment: "local" }, undefined],
  ] as const)("%j: %s", async (changes, lacking) => {
    const context = asPostgres(await homeWith("", { PATH: "/nowhere" }));
    const document = { ...scriptJob(undefined), ...changes };
    const run = { ...BLANK_RUN, id: "r", rootId: "r", dedupeKey: "d", idempotencyKey: "i" };
    const definition = {
      ...{ jobId: "there", version: 1, zone: "UTC", anchor: 0, inForceFrom: 0, source: "test" },
      document: JSON.stringify(document),
      ...{ digest: "", inForceTo: undefined, endedBy: undefined },
    };
    expect(cannotPrepare(context)(run, definition)).toBe(lacking);
  });
});
