// The environment contract on this machine: plain, without bash, and behind bubblewrap's walls.

import { environmentContract } from "./contract.ts";
import { localHarness } from "./local-harness.ts";

environmentContract(localHarness("local", { backend: "local" }));
environmentContract(
  localHarness("local behind walls", { backend: "local" }, { hide: { folders: ["/opt"], except: [] } }),
);
environmentContract(localHarness("local in a sandbox", { backend: "local", sandbox: "bubblewrap" }));
