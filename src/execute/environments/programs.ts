// Which program of this machine carries each backend: what can be known of an environment without asking anybody.

import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { assertNever } from "../../kernel/errors.ts";
import type { EnvironmentSpec } from "../../records/environment-spec.ts";
import { hasPackage, missingPackage } from "./cloud-account.ts";
import { isCloud } from "./cloud-services.ts";

/** Best first; any of them will do. Empty = none is needed. */
export function programsOf(spec: EnvironmentSpec): readonly string[] {
  switch (spec.backend) {
    case "local":
      return spec.sandbox ? ["bwrap"] : [];
    case "docker":
      return spec.engine ? [spec.engine] : ["docker", "podman"];
    case "ssh":
      return ["ssh"];
    case "singularity":
      return ["apptainer", "singularity"];
    case "modal":
    case "daytona":
    case "vercel":
      return [];
    default:
      return assertNever(spec);
  }
}

/** What this machine lacks for it, or undefined. Looks along `searchPath`, or for a package: cheap enough for every pass. */
export function missingProgram(spec: EnvironmentSpec, searchPath: string): string | undefined {
  if (isCloud(spec)) return hasPackage(spec.backend) ? undefined : missingPackage(spec.backend).message;
  const programs = programsOf(spec);
  if (programs.length === 0 || programs.some((name) => isOnPath(name, searchPath))) return undefined;
  return `${programs.join(" or ")} is not installed`;
}

/** Whether a program of that name may be executed there. */
export function isOnPath(name: string, searchPath: string): boolean {
  return searchPath.split(":").some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== "";
    } catch {
      return false;
    }
  });
}
