// The environment contract on another machine, which is a real sshd here.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import { type SshServer, startServer, whyNoServer } from "../../support/ssh-server.ts";
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
  has: { bash: true, sharedProcesses: true, boundary: true, codeOfSignal15: 255 },
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
