// Jobs in a cloud's sandbox, through the real SDK at a server that speaks its protocol: run, account lacking, ends of
// sandboxes whose node died. What a sandbox itself must be is told in test/contract/environment.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Context } from "../../src/app/context.ts";
import { reapEnvironments } from "../../src/app/environments.ts";
import { addJob, queueRun } from "../../src/app/jobs.ts";
import { startNode, tickOnce } from "../../src/app/node.ts";
import { recoveryDeps } from "../../src/app/recovery-deps.ts";
import { showRun } from "../../src/app/runs.ts";
import { OWNER_LABEL } from "../../src/execute/environments/cloud-sandbox.ts";
import { openEnvironment } from "../../src/execute/environments/index.ts";
import { ownerOf } from "../../src/execute/environments/owner.ts";
import { ownerTag } from "../../src/execute/environments/reap-sandboxes.ts";
import { parseEnvironmentSpec } from "../../src/records/environment-spec.ts";
import { cloudDeps, KEYS } from "../contract/environment/cloud-harness.ts";
import { contractFolder } from "../contract/environment/local-harness.ts";
import { type CloudServer, startCloud, whyNoCloud } from "../support/cloud/server.ts";
import { BARE_ENV, testContext, writeScript } from "../support/home.ts";
import { tempFolder } from "../support/temp.ts";

let server: CloudServer | undefined;
beforeAll(async () => {
  if (!whyNoCloud()) server = await startCloud("daytona");
});
afterAll(() => server?.stop());

async function homeWith(keys: Readonly<Record<string, string>> = KEYS): Promise<Context> {
  const path = join(await tempFolder(), "home");
  await mkdir(path, { mode: 0o700 });
  const config = `environments: {cloud: {backend: daytona, image: "debian:12", apiUrl: "${server?.url}"}}\n`;
  await writeFile(join(path, "config.yaml"), config, { mode: 0o600 });
  const lines = Object.entries(keys).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(path, ".env"), lines.join(""), { mode: 0o600 });
  const context = await testContext({ path, env: BARE_ENV });
  await writeScript(context, "where.sh", "echo out; echo err >&2; env | grep -c DAYTONA; exit 0");
  return context;
}

const job = { id: "there", run: { script: "where.sh" }, environment: "cloud" };
const running = async () => ((await server?.sandboxes()) ?? []).filter(({ state }) => state === "running");

/** A sandbox as a node leaves it that dies: of this home's account, of `owner`, for `runId`. */
async function leftBehind(context: Context, owner: Partial<ReturnType<typeof ownerOf>>, runId: string) {
  const folder = contractFolder();
  const deps = cloudDeps(folder.path);
  const spec = parseEnvironmentSpec("cloud", context.config.environments);
  await openEnvironment({ ...deps, env: { ...deps.env, NIGHTSHIFT_RUN_ID: runId } }, spec);
  folder.remove();
  const { id = "", labels = {} } = (await running()).at(-1) ?? {};
  const tag = ownerTag({ ...ownerOf(), ...owner });
  await server?.tell("label", { id, labels: { ...labels, [OWNER_LABEL]: tag } });
  return id;
}

describe.skipIf(whyNoCloud())("a job whose environment is a cloud's", () => {
  test("it runs there, is told as any other, sees no key, and its sandbox ends with it", async () => {
    const context = await homeWith();
    await addJob(context, job);
    const { id } = await queueRun(context, "there");
    await tickOnce({ context });

    expect(await showRun(context, id)).toMatchObject({
      state: "succeeded",
      outcome: { output: "out\n0\n" },
    });
    expect(await running()).toEqual([]);
  });

  test("without a key it is refused when it is made, with the variable's name; one that has gone blocks the run", async () => {
    const keyless = await homeWith({});
    await expect(addJob(keyless, job)).rejects.toMatchObject({
      code: "environment.unusable",
      message: expect.stringContaining("DAYTONA_API_KEY"),
    });

    const context = await homeWith();
    await addJob(context, job);
    const gone: Context = { ...context, variable: () => undefined };
    gone.scriptPlace = { ...context.scriptPlace, variable: () => undefined };
    const { id } = await queueRun(gone, "there");
    await tickOnce({ context: gone });
    expect(await showRun(gone, id)).toMatchObject({
      state: "blocked",
      outcome: { error: { code: "preflight", message: expect.stringContaining("DAYTONA_API_KEY") } },
    });
    expect(await server?.sandboxes()).toEqual([]);
  });

  test("hermes#75467: a node that starts ends the sandbox of one that died, and leaves a living owner's; so does `environment reap`", async () => {
    const context = await homeWith();
    const dead = { pid: process.pid, startTime: "1" };
    await leftBehind(context, dead, "a");
    const living = await leftBehind(context, {}, "b");

    const node = await startNode({ context });
    await node.stop({ graceMs: 0 });
    expect((await running()).map(({ id }) => id)).toEqual([living]);

    const other = await leftBehind(context, dead, "c");
    expect(await reapEnvironments(context)).toHaveLength(1);
    expect((await running()).map(({ id }) => id)).not.toContain(other);
    await server?.tell("forget", { id: living });
  });

  test("L10: whoever takes a run over ends its sandbox, whatever machine its node was on", async () => {
    const context = await homeWith();
    await addJob(context, job);
    const { id: runId } = await queueRun(context, "there");
    const run = await context.ledger.run(runId);
    if (!run || "ambiguous" in run) throw new Error("the run is not in the ledger");
    const [view] = await context.ledger.jobs();
    const ours = await leftBehind(context, { machineId: "another machine" }, runId);
    const other = await leftBehind(context, { machineId: "another machine" }, "another run");

    const deps = recoveryDeps(context, { nodeId: "heir", leaseMs: 1_000, isQuarantineOn: false });
    const ended = await deps.endContainers([
      {
        ...{ run, definition: view?.definition, previousOwner: "dead", processes: [] },
        claim: { runId, owner: "heir", token: 2 },
      },
    ]);

    expect(ended).toMatchObject([{ runId }]);
    const left = (await running()).map(({ id }) => id);
    expect(left).toContain(other);
    expect(left).not.toContain(ours);
    await server?.tell("forget", { id: other });
  });
});
