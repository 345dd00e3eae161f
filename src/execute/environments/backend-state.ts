// What this machine has for a backend at all, without an image, a host or a quota: for people who wonder what to install.

import type { DockerSpec, EnvironmentSpec } from "../../records/environment-spec.ts";
import { cloudState } from "./cloud-check.ts";
import { engineState } from "./docker-check.ts";
import { checkEnvironment } from "./index.ts";
import type { CheckDeps, EnvironmentCheck } from "./place.ts";
import { missingProgram } from "./programs.ts";
import { singularityState } from "./singularity-check.ts";

/** `usable` here means that nothing is missing on this machine; an image or a host may still not answer. Never throws. */
export async function backendState(deps: CheckDeps, spec: EnvironmentSpec): Promise<EnvironmentCheck> {
  switch (spec.backend) {
    case "docker":
      return docker(deps, spec);
    case "ssh": {
      const why = missingProgram(spec, deps.nodeEnv.PATH ?? "");
      if (why) return { usable: false, why, hint: "Install the OpenSSH client." };
      return { usable: true, notes: ["`environment check` asks a host"] };
    }
    case "singularity": {
      const why = missingProgram(spec, deps.nodeEnv.PATH ?? "");
      if (why) return { usable: false, why, hint: "Install Apptainer." };
      return singularityState(deps);
    }
    case "modal":
    case "daytona":
    case "vercel":
      return cloudState(deps, spec);
    default:
      return checkEnvironment(deps, spec);
  }
}

async function docker(deps: CheckDeps, spec: DockerSpec): Promise<EnvironmentCheck> {
  const why = missingProgram(spec, deps.nodeEnv.PATH ?? "");
  if (why) return { usable: false, why, hint: "Install Docker or Podman." };
  return engineState(deps, spec);
}
