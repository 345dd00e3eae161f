// The environment contract in a sandbox of Modal, through its SDK, at a server that speaks its gRPC.

import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { cloudHarness } from "./cloud-harness.ts";
import { environmentContract } from "./contract.ts";

environmentContract(
  cloudHarness("modal", (deps, apiUrl) =>
    openEnvironment(deps, { backend: "modal", image: "debian:12", apiUrl }),
  ),
);
