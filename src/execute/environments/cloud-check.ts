// Whether a cloud backend can be used here: its SDK, its keys, and the service's own word. Makes no sandbox.

import { isFault } from "../../kernel/errors.ts";
import type { CloudSpec } from "../../records/cloud-specs.ts";
import { formatEnvironment } from "../../records/environment-spec.ts";
import { hasPackage, missingPackage } from "./cloud-account.ts";
import { cloudFault } from "./cloud-faults.ts";
import type { CloudService } from "./cloud-sandbox.ts";
import type { EnvironmentCheck } from "./place.ts";

/** Asks the service. Throws `environment.unusable` with what to install or to set. */
export async function checkCloud(
  spec: CloudSpec,
  open: () => Promise<CloudService>,
): Promise<EnvironmentCheck> {
  if (!hasPackage(spec.backend)) throw missingPackage(spec.backend);
  const service = await open();
  const label = formatEnvironment(spec);
  try {
    await service.ping();
    return { usable: true, notes: [`${spec.backend} knows the account`] };
  } catch (error) {
    if (isFault(error)) throw error;
    throw cloudFault({ service, spec, label, error, doing: "the service refuses" });
  } finally {
    service.close();
  }
}
