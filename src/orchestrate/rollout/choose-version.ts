// Which version of an executor does a task while versions stand side by side (DESIGN §12). Pure.

import { createHash } from "node:crypto";
import type { Rollout } from "../../records/rollout.ts";

/**
 * The version for the task with this key; the same key gives the same answer, and a greater share only adds tasks.
 * `registered` are the versions known here (empty or undefined = not known): one that is registered no more gives way to the
 * other, and where neither is, undefined = the preferred one.
 */
export function versionFor(
  rollout: Pick<Rollout, "executor" | "version" | "baseline" | "traffic" | "state">,
  key: string,
  registered: readonly string[] = [],
): string | undefined {
  const { version, baseline } = rollout;
  const [wanted, other] = takesNew(rollout, key) ? [version, baseline] : [baseline, version];
  if (registered.length === 0 || registered.includes(wanted)) return wanted;
  return registered.includes(other) ? other : undefined;
}

function takesNew(
  { executor, version, traffic, state }: Parameters<typeof versionFor>[0],
  key: string,
): boolean {
  switch (state) {
    case "running":
      return shareOf(`${executor}\n${version}\n${key}`) < traffic;
    case "finished":
      return true;
    default:
      return false;
  }
}

/** Where a text falls between 0 and 100: evenly, and always at the same place. */
function shareOf(text: string): number {
  return (createHash("sha256").update(text).digest().readUInt32BE(0) / 2 ** 32) * 100;
}
