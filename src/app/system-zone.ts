// The machine's own time zone, told without Intl where possible: loading its tables costs what a short command costs.

import { readlinkSync } from "node:fs";

/** Other names of UTC that a machine may be set to. @source tzdb, file `backward` */
const UTC_NAMES = new Set(["Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"]);

/** The system's IANA zone (T1): `TZ`, else the target of /etc/localtime, else what Intl says; UTC where nothing is told. */
export function systemZone(env: Readonly<Record<string, string | undefined>>): string {
  const name = env.TZ ? undefined : linkedZone();
  if (name !== undefined) return UTC_NAMES.has(name) ? "UTC" : name;
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** `/etc/localtime -> /usr/share/zoneinfo/Europe/Berlin`. Undefined where it is a file of its own, or no known form. */
function linkedZone(): string | undefined {
  try {
    return /\/zoneinfo\/((?!posix|right)[A-Za-z][\w+/-]*)$/.exec(readlinkSync("/etc/localtime"))?.[1];
  } catch {
    return undefined;
  }
}
