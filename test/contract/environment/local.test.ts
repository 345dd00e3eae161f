// The environment contract on this machine.

import { environmentContract } from "./contract.ts";
import { localHarness } from "./local-harness.ts";

environmentContract(localHarness("local", { backend: "local" }));
