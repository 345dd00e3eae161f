// Whether a cloud backend can be used here: its SDK, its keys, and the service's own word. Makes no sandbox.

import { isFault } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import { formatEnvironment } from "../../records/environment-spec.ts";
import { hasPackage, missingPackage, requireAccount } from "./cloud-account.ts";
import { cloudFault } from "./cloud-faults.ts";
import { cloudService } from "./cloud-services.ts";
import type { CheckDeps, EnvironmentCheck } from "./place.ts";

/** Asks the service. Throws `environment.unusable` with what to install or to set. */
export async function checkCloud(deps: CheckDeps, spec: CloudSpec): Promise<EnvironmentCheck> {
  requireHere(deps, spec);
  const service = await cloudService(deps, spec);
  const label = formatEnvironment(spec);
  try {
    await service.ping();
    return { usable: true, notes: [`${spec.backend} knows the account`] };
  } catch (error) {
    throw cloudFault({ service, spec, label, error, doing: "the service refuses" });
  } finally {
    service.close();
  }
}

/** Whether this machine lacks anything for it. Asks nobody, loads nothing, never throws. */
export function cloudState(deps: CheckDeps, spec: CloudSpec): EnvironmentCheck {
  try {
    requireHere(deps, spec);
    return { usable: true, notes: ["`environment check` asks the service"] };
  } catch (error) {
    if (isFault(error)) return { usable: false, why: error.message, hint: error.hint };
    throw error;
  }
}

function requireHere(deps: CheckDeps, spec: CloudSpec): void {
  if (!hasPackage(spec.backend)) throw missingPackage(spec.backend);
  requireAccount(deps, spec);
}
