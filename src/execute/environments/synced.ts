// An environment elsewhere that works on this machine's workdir: brought in when it opens, brought back before it goes.
//
// I1. What could not be brought back is said in the log with its reason; `dispose` never throws for it.

import { messageOf } from "../../kernel/errors.ts";
import type { Environment } from "../../records/environment.ts";
import type { EnvironmentSpec } from "../../records/environment-spec.ts";
import type { EnvironmentDeps } from "./place.ts";
import { FolderSync, type SyncReport } from "./sync-files.ts";

/** Of all that is brought back at the end. */
const BACK_TIMEOUT_MS = 120_000;

/** Whether the place has files of its own: not this machine, not a folder mounted from it, not one that a person named. */
export function hasOwnFiles(spec: EnvironmentSpec): boolean {
  switch (spec.backend) {
    case "local":
    case "singularity":
      return false;
    case "docker":
      return spec.workdir === "own";
    case "ssh":
      return spec.folder === undefined;
    default:
      return true;
  }
}

/** Brings `deps.workdir` in; throws, with the environment ended, when that fails. */
export async function openSynced(deps: EnvironmentDeps, environment: Environment): Promise<Environment> {
  const sync = new FolderSync(environment, { here: deps.workdir, inside: environment.cwd });
  try {
    const report = await sync.bringIn({ signal: deps.signal ?? new AbortController().signal });
    tell(deps, environment, { event: "files-brought-in", report });
  } catch (error) {
    await environment.dispose();
    throw error;
  }
  let disposing: Promise<{ survivors: number }> | undefined;
  return {
    ...environment,
    dispose() {
      disposing ??= bringBack(deps, environment, sync).then(() => environment.dispose());
      return disposing;
    },
  };
}

async function bringBack(deps: EnvironmentDeps, environment: Environment, sync: FolderSync): Promise<void> {
  try {
    const report = await sync.bringBack({ signal: AbortSignal.timeout(BACK_TIMEOUT_MS) });
    tell(deps, environment, { event: "files-brought-back", report });
  } catch (error) {
    deps.log.warn("files-not-brought-back", { environment: environment.label, error: messageOf(error) });
  }
}

function tell(
  { log }: EnvironmentDeps,
  { label }: Environment,
  { event, report }: { event: string; report: SyncReport },
): void {
  const { written, deleted, skipped } = report;
  if (skipped.length > 0) log.warn("files-not-synced", { environment: label, skipped: skipped.slice(0, 50) });
  if (written.length + deleted.length === 0) return;
  log.info(event, { environment: label, written: written.length, deleted: deleted.length });
}
