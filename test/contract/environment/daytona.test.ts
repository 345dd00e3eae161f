// The environment contract in a sandbox of Daytona, through its SDK, at a server that speaks its REST and WebSockets.

import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { cloudHarness } from "./cloud-harness.ts";
import { environmentContract } from "./contract.ts";

environmentContract(
  cloudHarness("daytona", (deps, apiUrl) =>
    openEnvironment(deps, { backend: "daytona", image: "debian:12", apiUrl }),
  ),
);
