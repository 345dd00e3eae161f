// Background processes in a container and on another machine: the same registry; status and end are those inside.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { environmentProcesses } from "../../../src/app/background/environment-processes.ts";
import { homeProcesses } from "../../../src/app/background/home-processes.ts";
import type { Context } from "../../../src/app/context.ts";
import { openEnvironment } from "../../../src/execute/environments/index.ts";
import type { Processes } from "../../../src/records/background.ts";
import type { EnvironmentSpec } from "../../../src/records/environment-spec.ts";
import { countInside, uniqueSeconds, untilInside } from "../../contract/environment/asking.ts";
import { newId, realClock } from "../../execute/room.ts";
import { startEngine, TEST_IMAGE, whyNoEngine } from "../../support/docker-engine.ts";
import { testContext } from "../../support/home.ts";
import { startServer, whyNoServer } from "../../support/ssh-server.ts";

const never = new AbortController().signal;

interface Elsewhere {
  name: string;
  whyNot: string | undefined;
  start(): Promise<{ spec: EnvironmentSpec; env: Record<string, string>; stop(): Promise<void> }>;
}

const places: Elsewhere[] = [
  {
    name: "in a container",
    whyNot: whyNoEngine(),
    async start() {
      const { env, stop } = await startEngine();
      return { spec: { backend: "docker", image: TEST_IMAGE, network: "none" }, env, stop };
    },
  },
  {
    name: "over ssh",
    whyNot: whyNoServer(),
    async start() {
      const server = await startServer();
      const { user, port, identityFile, knownHosts, stop } = server;
      return {
        spec: { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts },
        env: {},
        stop,
      };
    },
  },
];

describe.each(places)("processes $name ($whyNot)", ({ whyNot, start }) => {
  let place: Awaited<ReturnType<Elsewhere["start"]>> | undefined;
  beforeAll(async () => {
    if (whyNot === undefined) place = await start();
  });
  afterAll(() => place?.stop());

  async function owned(context: Context, runId: string) {
    const { spec = { backend: "local" }, env = {} } = place ?? {};
    const workdir = join(context.home.paths.workspacesFolder, runId);
    const tempFolder = join(context.home.paths.runFolder, "agents", runId);
    for (const folder of [workdir, tempFolder]) await mkdir(folder, { recursive: true, mode: 0o700 });
    const environment = await openEnvironment(
      {
        ...{ clock: realClock, log: context.log, newId, workdir, tempFolder, graceMs: 200, jobEnvNames: [] },
        env: { PATH: process.env.PATH ?? "", NIGHTSHIFT_RUN_ID: runId, TZ: "UTC" },
        nodeEnv: { ...process.env, ...env },
      },
      spec,
    );
    const processes = environmentProcesses({
      ...{ context, environment, spec, hide: { folders: [], except: [] }, redact: context.redact },
      owner: { runId, session: "run" },
      ...{ jobEnv: {}, timezone: "UTC", jobId: "job", depth: 0, mayTellTargets: false },
    });
    onTestFinished(async () => {
      await processes.dispose();
      await environment.dispose();
    });
    return { environment, processes };
  }

  const untilPrinted = async (processes: Processes, id: string, text: string) => {
    for (let turn = 0; turn < 500; turn++) {
      if ((await processes.poll(id)).output.includes(text)) return;
      await realClock.sleep(20, never);
    }
    throw new Error(`never printed: ${text}`);
  };

  test.skipIf(whyNot !== undefined)(
    "it is listed, written to and judged by its own exit; its log is on this machine",
    async () => {
      const context = await testContext();
      const { processes } = await owned(context, "run-1");
      const started = await processes.start({ command: "read line; echo got $line; pwd; exit 7" }, never);
      expect(await processes.list()).toMatchObject([
        { id: started.id, state: "running", ownerRunId: "run-1" },
      ]);
      await processes.write(started.id, "go 夜\n");
      const ended = await processes.wait(started.id, { timeoutMs: 20_000, signal: never });
      expect(ended).toMatchObject({ status: "exited", process: { state: "exited", exitCode: 7 } });
      expect(ended.output).toMatch(/^got go 夜\n\/\S+\n$/);
      const seen = await homeProcesses(context, "/").log(started.id);
      expect(seen).toMatchObject({ output: ended.output, process: { state: "exited", exitCode: 7 } });
    },
  );

  test.skipIf(whyNot !== undefined)(
    "kill ends its tree inside, by its owner or asked for from elsewhere; the owner's end ends the rest",
    async () => {
      const context = await testContext();
      const { environment, processes } = await owned(context, "run-1");
      const seconds = uniqueSeconds();
      const command = `echo there; trap '' TERM; setsid sleep ${seconds} & sleep ${seconds}`;
      const [mine, theirs, rest] = [
        await processes.start({ command }, never),
        await processes.start({ command }, never),
        await processes.start({ command }, never),
      ];
      for (const { id } of [mine, theirs, rest]) await untilPrinted(processes, id, "there");
      await untilInside(environment, seconds, 6);

      expect(await processes.kill(mine.id)).toMatchObject({ survivors: 0, process: { state: "killed" } });
      const elsewhere = homeProcesses(await testContext({ path: context.home.paths.root }), "/");
      expect(await elsewhere.kill(theirs.id)).toMatchObject({ process: { state: "killed" } });
      expect(await processes.dispose()).toEqual({ ended: 1, survivors: 0 });
      expect(await countInside(environment, seconds)).toBe(0);
      expect((await elsewhere.poll(rest.id)).process.state).toBe("killed");
    },
  );
});
