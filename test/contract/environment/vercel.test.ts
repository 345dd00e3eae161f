// The environment contract in a Vercel Sandbox, through its SDK, at a server that speaks its REST.

import { openEnvironment } from "../../../src/execute/environments/index.ts";
import { cloudHarness } from "./cloud-harness.ts";
import { environmentContract } from "./contract.ts";

environmentContract(
  cloudHarness("vercel", (deps, apiUrl) => openEnvironment(deps, { backend: "vercel", apiUrl })),
);
