// The cloud backends under the contract: through the real SDK, at a server of ours that speaks the service's protocol and
// runs the commands on this machine.

import { existsSync } from "node:fs";
import type { EnvironmentDeps } from "../../../src/execute/environments/place.ts";
import type { Environment } from "../../../src/records/environment.ts";
import { type CloudServer, startCloud, whyNoCloud } from "../../support/cloud/server.ts";
import type { Harness } from "./contract.ts";
import { contractDeps, contractFolder } from "./local-harness.ts";

/** Keys that the servers take, as a home's `.env` would give them. */
export const KEYS: Readonly<Record<string, string>> = {
  MODAL_TOKEN_ID: "ak-test",
  MODAL_TOKEN_SECRET: "as-test",
  DAYTONA_API_KEY: "dtn-test",
  VERCEL_TOKEN: "vercel-test",
  VERCEL_TEAM_ID: "team_test",
  VERCEL_PROJECT_ID: "prj_test",
};

/** What a node hands over to an environment in a cloud. */
export function cloudDeps(folder: string): EnvironmentDeps {
  return { ...contractDeps(folder), variable: (name) => KEYS[name] };
}

export function cloudHarness(
  backend: "modal" | "daytona" | "vercel",
  open: (deps: EnvironmentDeps, apiUrl: string) => Promise<Environment>,
): Harness {
  let server: CloudServer | undefined;
  let folder: ReturnType<typeof contractFolder> | undefined;
  let shared = "";
  return {
    name: backend,
    whyNot: whyNoCloud(),
    // The servers run commands as this machine's own processes; the walls are the real services'.
    has: { bash: existsSync("/bin/bash"), sharedProcesses: true, boundary: false, codeOfSignal15: 143 },
    async start() {
      folder = contractFolder();
      server = await startCloud(backend);
    },
    async stop() {
      await server?.stop();
      folder?.remove();
    },
    async open() {
      const deps = cloudDeps(folder?.path ?? "");
      const environment = await open(deps, server?.url ?? "");
      shared ||= (await server?.sandboxes())?.[0]?.id ?? "";
      return { deps, environment };
    },
    async leftovers() {
      const left = (await server?.sandboxes()) ?? [];
      return left.map(({ id }) => id).filter((id) => id !== shared);
    },
  };
}
