// The environment contract in a container, and what is docker's own: its walls, its losses, its orphans.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { makePipePool, type PipePool } from "../../../src/execute/pipe-pool.ts";
import { type Engine, startEngine, TEST_IMAGE, whyNoEngine } from "../../support/docker-engine.ts";
import { environmentContract, type Harness } from "./contract.ts";
import { contractDeps, contractFolder } from "./local-harness.ts";

let engine: Engine | undefined;
let folder: ReturnType<typeof contractFolder> | undefined;
let pipes: PipePool | undefined;
let sharedContainers = "";

const harness: Harness = {
  name: "docker",
  whyNot: whyNoEngine(),
  has: { bash: false, sharedProcesses: true, boundary: true, codeOfSignal15: 143 },
  async start() {
    folder = contractFolder();
    pipes = makePipePool(join(folder.path, "pipes"));
    engine = await startEngine();
  },
  async stop() {
    await engine?.stop();
    await pipes?.close();
    folder?.remove();
  },
  async open() {
    const deps = contractDeps(folder?.path ?? "", pipes);
    deps.nodeEnv = { ...deps.nodeEnv, ...engine?.env };
    const environment = await openEnvironment(deps, {
      backend: "docker",
      image: TEST_IMAGE,
      network: "none",
    });
    sharedContainers ||= (await engine?.docker("ps", "--all", "--quiet")) ?? "";
    return { deps, environment };
  },
  async leftovers() {
    const containers = ((await engine?.docker("ps", "--all", "--quiet")) ?? "").split("\n");
    return [
      ...containers.filter((id) => id !== sharedContainers),
      ...readdirSync(join(folder?.path ?? "", "run")),
    ];
  },
};

environmentContract(harness);
