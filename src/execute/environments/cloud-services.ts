// The services that give sandboxes: one line each. Their SDKs are loaded with the first that is opened.

import { assertNever } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import type { EnvironmentSpec } from "../../records/environment-spec.ts";
import type { CloudService } from "./cloud-sandbox.ts";
import type { CheckDeps } from "./place.ts";

/** Throws `environment.unusable` when the SDK or a key is missing. Asks nobody. The caller closes it. */
export async function cloudService(deps: CheckDeps, spec: CloudSpec): Promise<CloudService> {
  switch (spec.backend) {
    case "modal":
      return (await import("./modal.ts")).modalService(deps, spec);
    case "daytona":
      return (await import("./daytona.ts")).daytonaService(deps, spec);
    case "vercel":
      return (await import("./vercel.ts")).vercelService(deps, spec);
    default:
      return assertNever(spec);
  }
}

/** Whether its sandboxes are a service's. */
export function isCloud(spec: EnvironmentSpec): spec is CloudSpec {
  return spec.backend === "modal" || spec.backend === "daytona" || spec.backend === "vercel";
}
