// Where background processes keep what they print, and who is who: paths, identities, whose host.

import { join } from "node:path";
import type { BackgroundRecord } from "../../records/background.ts";
import type { ProcessIdentity } from "../../records/process.ts";
import type { Context } from "../context.ts";

/** One folder for each process below it, by its id. */
export function processesFolder({ home }: Pick<Context, "home">): string {
  return join(home.paths.runFolder, "processes");
}

export function folderOf(context: Pick<Context, "home">, id: string): string {
  return join(processesFolder(context), id);
}

/** Undefined where its environment told no pid. */
export function identityOf({ pid, startTime, processGroup }: BackgroundRecord): ProcessIdentity | undefined {
  if (pid === undefined || startTime === undefined) return undefined;
  return { pid, startTime, processGroup: processGroup ?? pid };
}

/** Whether its pid means something here. */
export function isOfThisHost({ host }: Pick<Context, "host">, record: BackgroundRecord): boolean {
  return record.hostId === host.hostId;
}

/** Its machine has been started anew since: nothing of it can be left. */
export function isOfAnotherBoot({ host }: Pick<Context, "host">, record: BackgroundRecord): boolean {
  return record.machineId === host.machineId && record.bootId !== host.bootId;
}
