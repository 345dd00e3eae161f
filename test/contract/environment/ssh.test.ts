// The environment contract on another machine, which is a real sshd here.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkEnvironment, openEnvironment } from "../../../src/execute/environments/index.ts";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import { listProcesses } from "../../../src/execute/process-table.ts";
import type { SshSpec } from "../../../src/records/environment-spec.ts";
import { until } from "../../execute/room.ts";
import { type SshServer, startServer, whyNoServer } from "../../support/ssh-server.ts";
import { exec, uniqueSeconds, untilInside } from "./asking.ts";
import { environmentContract, type Harness } from "./contract.ts";
import { contractDeps, contractFolder } from "./local-harness.ts";

let server: SshServer | undefined;
let folder: ReturnType<typeof contractFolder> | undefined;
let pipes: PipePool | undefined;
const remoteFolders = () => readdirSync("/tmp").filter((name) => name.startsWith(".nightshift-"));
let shared: string[] = [];

const harness: Harness = {
  name: "ssh",
  whyNot: whyNoServer(),
  has: { bash: true, sharedProcesses: true, boundary: false, codeOfSignal15: 255, terminal: true },
  async start() {
    folder = contractFolder();
    pipes = makePipePool(join(folder.path, "pipes"));
    server = await startServer();
  },
  async stop() {
    await server?.stop();
    await pipes?.close();
    folder?.remove();
  },
  async open() {
    const deps = contractDeps(folder?.path ?? "", pipes);
    const { user = "", port = 0, identityFile = "", knownHosts = "" } = server ?? {};
    const spec = { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts } as const;
    const environment = await openEnvironment(deps, spec);
    if (shared.length === 0) shared = [...remoteFolders(), ...readdirSync(join(folder?.path ?? "", "run"))];
    return { deps, environment };
  },
  async leftovers() {
    const here = readdirSync(join(folder?.path ?? "", "run"));
    return [...remoteFolders(), ...here].filter((name) => !shared.includes(name));
  },
};

environmentContract(harness);

describe.skipIf(whyNoServer() !== undefined)(`another machine's own (${whyNoServer() ?? "ssh"})`, () => {
  let deps: EnvironmentDeps;
  let spec: SshSpec;

  beforeEach(async () => {
    shared = [];
    await harness.start?.();
    deps = contractDeps(folder?.path ?? "", pipes);
    const { user = "", port = 0, identityFile = "", knownHosts = "" } = server ?? {};
    spec = { backend: "ssh", host: "127.0.0.1", user, port, identityFile, knownHosts };
  });
  afterEach(() => harness.stop?.());

  test("a connection that breaks in a call is a lost place, not exit 255; the far end cleans up by itself", async () => {
    const environment = await openEnvironment(deps, spec);
    expect((await exec(environment, "exit 255")).exitCode).toBe(255);
    const seconds = uniqueSeconds();
    const lost = exec(environment, `echo before; sleep ${seconds}`, { onOutput: () => void server?.cut() });

    await expect(lost).rejects.toMatchObject({ code: "environment.broken", details: { stdout: "before\n" } });
    await expect(exec(environment, "true")).rejects.toMatchObject({ code: "environment.broken" });

    await until(() => remoteFolders().length === 0, "the guardian has removed the folder");
    expect(listProcesses().filter(({ pid }) => argumentsOf(pid).includes(seconds))).toEqual([]);
    expect(await environment.dispose()).toEqual({ survivors: 0 });
    expect(readdirSync(deps.tempFolder)).toEqual([]);
  });

  test("a killed node leaves nothing there: the connection's end is enough", async () => {
    const environment = await openEnvironment(deps, spec);
    const seconds = uniqueSeconds();
    const call = exec(environment, `setsid sleep ${seconds} & sleep ${seconds}`).catch(
      (error: unknown) => error,
    );
    await untilInside(environment, seconds, 2);
    // What a kill -9 of the node does: its clients vanish with it.
    for (const { pid } of listProcesses().filter(({ pid }) =>
      argumentsOf(pid).startsWith("ssh\0-T\0-o\0ControlMaster=yes"),
    ))
      if (argumentsOf(pid).includes(deps.tempFolder)) process.kill(pid, "SIGKILL");

    await until(() => remoteFolders().length === 0, "the guardian has removed the folder");
    expect(
      listProcesses().filter(
        ({ pid }) => argumentsOf(pid).includes(seconds) && !argumentsOf(pid).startsWith("ssh\0"),
      ),
    ).toEqual([]);
    await call;
    await environment.dispose();
  });

  test("a host that does not let us in is refused with what to do; nothing is left here", async () => {
    await expect(openEnvironment(deps, { ...spec, user: "nobody-of-this-name" })).rejects.toMatchObject({
      code: "environment.unusable",
      message: expect.stringContaining("Permission denied"),
    });
    await expect(
      openEnvironment(deps, { ...spec, hostKey: "strict", knownHosts: `${spec.knownHosts}-empty` }),
    ).rejects.toMatchObject({
      code: "environment.unusable",
    });
    await expect(openEnvironment(deps, { ...spec, folder: "/no/such/folder" })).rejects.toMatchObject({
      code: "environment.unusable",
    });
    expect(readdirSync(deps.tempFolder)).toEqual([]);
    expect(await checkEnvironment(deps, spec)).toMatchObject({ usable: true });
    expect(await checkEnvironment(deps, { ...spec, port: 1 })).toMatchObject({ usable: false });
    await until(() => remoteFolders().length === 0, "the guardian has removed the folder");
  });
});

function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
