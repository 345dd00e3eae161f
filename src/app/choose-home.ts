// Which home a process works in: `--home`, else NIGHTSHIFT_HOME, else ~/.nightshift; `--profile` names one below it.

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Fault } from "../kernel/errors.ts";

export interface HomeOptions {
  home: string | undefined;
  profile: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** The home's absolute path and the store it uses (`NIGHTSHIFT_STORE`; undefined = the home's own ledger.db). */
export function chooseHome({ home, profile, env }: HomeOptions): {
  path: string;
  storeUrl: string | undefined;
} {
  const base = resolve(home ?? (env.NIGHTSHIFT_HOME || join(env.HOME || homedir(), ".nightshift")));
  return {
    path: profile === undefined ? base : profilePath(base, profile),
    storeUrl: env.NIGHTSHIFT_STORE || undefined,
  };
}

/** DESIGN §5: one home is one profile; a profile is a home below the default one. */
export function profilePath(base: string, profile: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(profile)) return join(base, "profiles", profile);
  throw new Fault("input.usage", `"${profile}" is no profile's name.`, {
    hint: "Use letters, digits, - and _.",
  });
}
