// The zone of a schedule that belongs to no job: the flag's, else the config's, else the system's (T1).

import type { Instant } from "../kernel/time.ts";
import { readConfig } from "../records/config-document.ts";
import { zoneName } from "../schedule/zone.ts";
import { homePaths, readHomeFile } from "../store/files/home.ts";
import { systemClock } from "./system.ts";
import { systemZone } from "./system-zone.ts";

/** Reads only the config, and makes no home. Throws `schedule.zone`, `config.invalid`. */
export async function previewZone(
  home: string,
  flag: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ zone: string; now: Instant }> {
  const now = systemClock.now();
  if (flag !== undefined) return { zone: zoneName(flag), now };
  const file = homePaths(home).configFile;
  const { config } = readConfig((await readHomeFile(file))?.text, { file, env });
  return { zone: zoneName(config.timezone ?? systemZone(env)), now };
}
