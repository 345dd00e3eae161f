// The name of an instance: whose it is and for which run, so that one that was left behind is known by its name alone
// (Apptainer has no labels for what runs).
//
// I1. Only letters, digits, `_`, `-` and dots, no path separator; fits a file's name.

import type { HostIdentity } from "../../records/process.ts";
import { areOrphansWords, ownerWords } from "./owner.ts";

const PREFIX = "nightshift";

export interface InstanceName {
  /** `ownerWords`. */
  owner: string;
  runId: string;
  environmentId: string;
}

/** The name of this process's instance. */
export function instanceName({ runId, environmentId }: Omit<InstanceName, "owner">): string {
  const words = [runId, environmentId].map((word) => word.replace(/[^\w-]/g, "_"));
  return [PREFIX, ownerWords(), ...words].join(".");
}

/** Undefined = not one of ours. */
export function parseInstanceName(name: string): InstanceName | undefined {
  const [, owner = "", runId = "", environmentId = ""] =
    /^nightshift\.((?:[\w-]+\.){3}\d+\.[\w-]*)\.([\w-]*)\.([\w-]+)$/.exec(name) ?? [];
  return owner === "" ? undefined : { owner, runId, environmentId };
}

/** Whether the process that made it is certainly gone (owner.ts). */
export function isInstanceOrphaned({ owner }: InstanceName, host?: HostIdentity): boolean {
  return areOrphansWords(owner, host);
}
